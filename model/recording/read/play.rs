//! Samples decoded: one at any place, and those after it.

use super::scan::{Place, read_record};
use super::{Cursor, Damage, HEAD_BYTES, ReadAt, Reader};
use crate::codec::{self, Record};
use crate::judge::save::MAX_STATE;
use crate::locale::recording::damage as text;
use crate::recording::{Head, Kind, split_key};
use crate::{Snapshot, Stamp, Window};

/// Key frames of a segment that are searched for the judge's state.
const STATES_BACK: usize = 3;

impl<S: ReadAt> Reader<S> {
    /// The window as it was when a sample came in; [`Reader::next_sample`] goes on after it. Decodes from the key frame
    /// before the last one, so that slower sections have two generations.
    pub fn window_at(&mut self, number: u64) -> Result<Window, Damage> {
        self.cursor = None;
        let missing = || Damage { offset: 0, bytes: 0, what: text::NoSample { number: &number }.to_string() };
        let number = u32::try_from(number).map_err(|_| missing())?;
        let route = self.route(number).ok_or_else(missing)?;
        if let Some(window) = self.window_in_place(&route) {
            self.cursor = Some(Cursor { number, base: Some(window.now.clone()) });
            return Ok(window);
        }
        let mut window = Window::default();
        let mut base: Option<(u32, Snapshot)> = None;
        let mut damage = None;
        for place in &route {
            match self.decode(place, base.as_ref()) {
                Ok(snapshot) => {
                    window.push(snapshot.clone());
                    base = Some((place.number, snapshot));
                    damage = None;
                }
                Err(error) => {
                    base = None;
                    damage = damage.or(Some(error));
                }
            }
        }
        self.cursor = Some(Cursor { number, base: base.map(|base| base.1) });
        match damage {
            Some(damage) => Err(self.remember(damage)),
            None => Ok(window),
        }
    }

    /// The key frame at or before a sample that has a state of the judge, and that state.
    pub fn state_before(&mut self, number: u64) -> Option<(u64, Vec<u8>)> {
        let number = u32::try_from(number).ok()?;
        for at in (0..=self.segment_of(number)?).rev().take(2) {
            let table = self.table(at);
            let keys = table.samples_to(number).rev().filter(|place| place.kind == Kind::Key);
            let keys: Vec<Place> = keys.take(STATES_BACK).copied().collect();
            for place in keys {
                let Some((_, record)) = self.record(&place) else { continue };
                let state = record.get(HEAD_BYTES..).and_then(split_key).map(|parts| parts.1);
                if let Some(state) = state.filter(|state| !state.is_empty() && state.len() <= MAX_STATE) {
                    return Some((u64::from(place.number), state.to_vec()));
                }
            }
        }
        None
    }

    /// The window after some samples, if all of them are there and whole: in place, which takes half the time.
    fn window_in_place(&self, route: &[Place]) -> Option<Window> {
        let next = |pair: &[Place]| matches!(pair, [one, next] if one.number.checked_add(1) == Some(next.number));
        if !route.windows(2).all(next) {
            return None;
        }
        let records: Option<Vec<Record>> = route.iter().map(|place| Some(self.sample(place).ok()?.1)).collect();
        codec::window(&records?).ok()
    }

    /// The sample after the one that was decoded last, with its number; none at the end. After damage the next one that
    /// can be decoded follows.
    pub fn next_sample(&mut self) -> Option<Result<(u64, Snapshot), Damage>> {
        let (number, base) = match self.cursor.take() {
            Some(cursor) => (Some(cursor.number), cursor.base),
            None => (None, None),
        };
        let place = self.place_after(number);
        let Some(place) = place else {
            self.cursor = number.map(|number| Cursor { number, base });
            return None;
        };
        let known = number.zip(base).filter(|(number, _)| number.checked_add(1) == Some(place.number));
        match self.decode(&place, known.as_ref()) {
            Ok(snapshot) => {
                self.cursor = Some(Cursor { number: place.number, base: Some(snapshot.clone()) });
                Some(Ok((u64::from(place.number), snapshot)))
            }
            Err(damage) => {
                // What follows it are differences to it: go on with the next key frame.
                let next = self.key_after(place.number);
                let number = next.map_or(place.number, |key| key.saturating_sub(1).max(place.number));
                self.cursor = Some(Cursor { number, base: None });
                Some(Err(self.remember(damage)))
            }
        }
    }

    fn remember(&mut self, damage: Damage) -> Damage {
        if damage.bytes > 0 {
            self.note(damage.offset, damage.bytes, &damage.what);
        }
        damage
    }

    /// The samples to decode for one: from the key frame before its own on.
    fn route(&mut self, number: u32) -> Option<Vec<Place>> {
        let at = self.segment_of(number)?;
        let table = self.table(at);
        let (target, _) = table.sample(number)?;
        let key = table.key_before(target)?;
        let before = key.checked_sub(1).and_then(|before| table.key_before(before));
        let here: Vec<Place> = table.between(before.unwrap_or(key), target).copied().collect();
        let mut route = Vec::new();
        if let Some(at) = at.checked_sub(1).filter(|_| before.is_none()) {
            let table = self.table(at);
            let last = table.len().checked_sub(1);
            if let Some((key, last)) = last.and_then(|last| Some((table.key_before(last)?, last))) {
                route.extend(table.between(key, last).copied());
            }
        }
        route.extend(here);
        Some(route)
    }

    fn place_after(&mut self, number: Option<u32>) -> Option<Place> {
        let first = number.map_or(Some(0), |number| self.segment_of(number))?;
        for at in first..self.segments.len() {
            let next = self.table(at).samples_after(number).next().copied();
            if next.is_some() {
                return next;
            }
        }
        None
    }

    fn key_after(&mut self, number: u32) -> Option<u32> {
        let first = self.segment_of(number)?;
        for at in first..self.segments.len() {
            if let Some(key) = self.table(at).samples_after(Some(number)).find(|place| place.kind == Kind::Key) {
                return Some(key.number);
            }
        }
        None
    }

    fn decode(&self, place: &Place, base: Option<&(u32, Snapshot)>) -> Result<Snapshot, Damage> {
        let (bytes, record) = self.sample(place)?;
        let base = base.filter(|base| base.0.checked_add(1) == Some(place.number)).map(|base| &base.1);
        let damage = |error: codec::Error| Damage { offset: place.offset, bytes, what: error.to_string() };
        codec::decode(base, &record).map_err(damage)
    }

    /// The codec's record of a sample, and how many bytes it takes in the file.
    fn sample(&self, place: &Place) -> Result<(u64, Record), Damage> {
        let damage = |bytes: u64, what: &str| Damage { offset: place.offset, bytes, what: what.to_owned() };
        let (head, record) = self.record(place).ok_or_else(|| damage(HEAD_BYTES as u64, text::CHECKSUM.as_str()))?;
        let body = record.get(HEAD_BYTES..).unwrap_or_default();
        let key = head.kind == Kind::Key;
        let payload = if key { split_key(body).map(|parts| parts.2) } else { Some(body) };
        let payload = payload.ok_or_else(|| damage(head.bytes(), text::KEY_INCOMPLETE.as_str()))?;
        let stamp = Stamp { wall_ns: head.wall_ns, mono_ns: head.mono_ns, ..Stamp::default() };
        Ok((head.bytes(), Record { stamp, key, bytes: payload.to_vec() }))
    }

    /// A record that is what was written.
    pub(super) fn record(&self, place: &Place) -> Option<(Head, Vec<u8>)> {
        let mut head = [0; HEAD_BYTES];
        super::read_full(&self.source, place.offset, &mut head).ok()?;
        let head = Head::parse(&head).filter(|head| place.offset + head.bytes() <= self.size)?;
        Some((head, read_record(&self.source, place.offset, &head)?))
    }
}
