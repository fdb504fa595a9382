"""A peer that answers each request after so many seconds as the file `delay` says, and prints how many it answered."""

import asyncio
import sys

port = int(sys.argv[1])
answers = 0
delay = 0.0


async def serve(reader, writer):
    global answers
    try:
        await reader.readuntil(b"\r\n\r\n")
        await asyncio.sleep(delay)
        answers += 1
        writer.write(b"HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nok\n")
        await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def main():
    global delay
    server = await asyncio.start_server(serve, "127.0.0.1", port, backlog=1024)
    last = 0
    async with server:
        while True:
            with open("delay") as file:
                delay = float(file.read() or 0)
            await asyncio.sleep(0.5)
            print("served", 2 * (answers - last), flush=True)
            last = answers


asyncio.run(main())
