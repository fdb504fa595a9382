//! A thread for what may wait: locks of the kernel, other processes. It is never joined.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::time::Duration;

/// Sends jobs to a thread and takes answers when they are there.
#[derive(Debug)]
pub struct Worker<Job, Answer> {
    jobs: SyncSender<Job>,
    /// None for a job that panicked.
    answers: Receiver<Option<Answer>>,
    pending: usize,
}

/// Jobs that may wait in line.
const QUEUE: usize = 64;

impl<Job: Send + 'static, Answer: Send + 'static> Worker<Job, Answer> {
    /// Starts the thread; `work` runs once per job. A job that panics is answered by nothing.
    pub fn spawn(name: &str, work: impl FnMut(Job) -> Answer + Send + 'static) -> std::io::Result<Self> {
        let (jobs, inbox) = sync_channel::<Job>(QUEUE);
        let (outbox, answers) = channel();
        std::thread::Builder::new().name(name.to_owned()).spawn(move || run(&inbox, &outbox, work))?;
        Ok(Self { jobs, answers, pending: 0 })
    }

    /// Hands a job over; false when the line is full or the thread is gone.
    pub fn submit(&mut self, job: Job) -> bool {
        // A branch on purpose: `usize::from(try_send(job).is_ok())` added nothing in release builds of rustc 1.95.
        match self.jobs.try_send(job) {
            Ok(()) => {
                self.pending += 1;
                true
            }
            Err(_) => false,
        }
    }

    /// How many jobs have no answer yet.
    pub fn pending(&self) -> usize {
        self.pending
    }

    /// An answer, if one is there.
    pub fn take(&mut self) -> Option<Answer> {
        loop {
            let answer = self.answers.try_recv().ok()?;
            self.pending = self.pending.saturating_sub(1);
            if answer.is_some() {
                return answer;
            }
        }
    }

    /// Waits for an answer; none when there is nothing to wait for, the job panicked or time runs out.
    pub fn wait(&mut self, at_most: Duration) -> Option<Answer> {
        if self.pending == 0 {
            return None;
        }
        match self.answers.recv_timeout(at_most) {
            Ok(answer) => {
                self.pending -= 1;
                answer
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => None,
        }
    }
}

fn run<Job, Answer>(inbox: &Receiver<Job>, outbox: &Sender<Option<Answer>>, mut work: impl FnMut(Job) -> Answer) {
    while let Ok(job) = inbox.recv() {
        // A defect costs the job, not all that come after it.
        let answer = catch_unwind(AssertUnwindSafe(|| work(job))).ok();
        if outbox.send(answer).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Worker;
    use std::time::Duration;

    #[test]
    fn every_job_is_counted_and_answered() {
        // A job with a niche: with one of these a release build lost count.
        let mut worker =
            Worker::spawn("test", |(number, twice): (u64, bool)| number << u32::from(twice)).expect("started");
        for number in 0..8 {
            assert!(worker.submit((number, number % 2 == 0)));
        }
        assert_eq!(worker.pending(), 8);
        let answers: Vec<u64> = std::iter::from_fn(|| worker.wait(Duration::from_secs(10))).collect();
        assert_eq!(answers, [0, 1, 4, 3, 8, 5, 12, 7]);
        assert_eq!(worker.pending(), 0);
    }

    #[test]
    fn a_job_that_panics_costs_itself_only() {
        let mut worker = Worker::spawn("test", |number: u32| {
            assert_ne!(number, 1, "a defect");
            number
        })
        .expect("started");
        for number in 0..3 {
            assert!(worker.submit(number));
        }
        assert_eq!([(); 3].map(|()| worker.wait(Duration::from_secs(10))), [Some(0), None, Some(2)]);
        assert_eq!(worker.pending(), 0);
        assert_eq!(worker.take(), None);
    }
}
