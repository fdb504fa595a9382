//! Recordings made of others: a part of one, or several one after the other. Nothing is skipped, since nothing hurries.

use super::Reader;
use crate::output::{Draft, is_stdout};
use crate::span;
use crate::trust::said;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use topotop_model::locale::recording::cause;
use topotop_model::locale::{in_english, output as text};
use topotop_model::recording::{About, Chunk, Composer, Event, Join, Limits, What};
use topotop_model::text::printable;

/// A recording that is being written.
#[derive(Debug)]
pub struct Copy {
    path: PathBuf,
    draft: Draft,
    composer: Composer,
    join: Join,
    last_mono_ns: u64,
    samples: u64,
    bytes: u64,
}

impl Copy {
    /// A new file, which must not exist, readable by its owner alone.
    pub fn create(path: &Path, about: About) -> Result<Self, String> {
        let wrong = |what: &str| format!("{}: {what}", printable(&path.display().to_string()));
        if is_stdout(path) {
            return Err(wrong(&text::NEEDS_FILE));
        }
        let draft = Draft::beside(path, false).map_err(|error| wrong(&said(&error)))?;
        let composer = Composer::new(about, Some(Limits::default()));
        let path = path.to_owned();
        Ok(Self { path, draft, composer, join: Join::default(), last_mono_ns: 0, samples: 0, bytes: 0 })
    }

    /// Appends samples of a recording with the events among them; returns how often something could not be read.
    /// Samples that are not later than the last one are there already.
    pub fn append(&mut self, reader: &mut Reader, numbers: (u64, u64)) -> Result<u64, String> {
        if self.samples > 0 {
            self.join.next_recording();
            self.composer.interrupt();
        }
        let all = reader.events();
        let mut events = all.into_iter().filter(|event| (numbers.0..=numbers.1 + 1).contains(&event.0)).peekable();
        let (mut failed, mut hole) = (None, self.samples > 0);
        let damaged = span::samples(reader, numbers, |number, mut snapshot| {
            let stamp = snapshot.stamp;
            if stamp.mono_ns <= self.last_mono_ns {
                while events.next_if(|event| event.0 <= number).is_some() {}
                return true;
            }
            self.join.take(&mut snapshot);
            let mut put = || -> Result<(), String> {
                if std::mem::take(&mut hole) {
                    let seconds = (stamp.mono_ns - self.last_mono_ns) / 1_000_000_000;
                    let text = in_english(|| cause::NextRecording { seconds: &seconds }.to_string());
                    let event = Event { wall_ns: stamp.wall_ns, mono_ns: stamp.mono_ns, what: What::Note { text } };
                    self.event(event)?;
                }
                while let Some((_, event)) = events.next_if(|event| event.0 <= number) {
                    self.event(event)?;
                }
                let chunk = self.composer.sample(&snapshot).map_err(|error| self.wrong(&error.to_string()))?;
                self.write(&chunk)
            };
            failed = put().err();
            self.last_mono_ns = stamp.mono_ns;
            self.samples += 1;
            failed.is_none()
        });
        // What came after the last sample but before the one that is left out: the end of a command.
        while failed.is_none() {
            let Some((_, event)) = events.next() else { break };
            failed = self.event(event).err();
        }
        failed.map_or(Ok(damaged), Err)
    }

    /// Closes it well; returns how many samples and bytes it has.
    pub fn finish(mut self) -> Result<(u64, u64), String> {
        if let Some(chunk) = self.composer.finish() {
            self.write(&chunk)?;
        }
        let Self { path, draft, samples, bytes, .. } = self;
        draft.publish().map_err(|error| format!("{}: {}", printable(&path.display().to_string()), said(&error)))?;
        Ok((samples, bytes))
    }

    fn event(&mut self, event: Event) -> Result<(), String> {
        match self.composer.event(event) {
            Some(chunk) => self.write(&chunk),
            None => Ok(()),
        }
    }

    fn write(&mut self, chunk: &Chunk) -> Result<(), String> {
        for (offset, bytes) in &chunk.writes {
            self.draft.file.write_all_at(bytes, *offset).map_err(|error| self.wrong(&said(&error)))?;
            self.bytes = self.bytes.max(offset + bytes.len() as u64);
        }
        Ok(())
    }

    fn wrong(&self, what: &str) -> String {
        format!("{}: {what}", printable(&self.path.display().to_string()))
    }
}
