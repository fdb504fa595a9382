//! Where a process's resident pages are, from about a thousand of them chosen at random.
//!
//! Addresses are drawn with known odds and the kernel is asked for each page's node; what is not resident is a miss. A
//! hit stands for as many pages as its zone has per draw, so the odds may be anything: later rounds draw more where
//! pages were found, which is what makes big sparse mappings affordable. Resident memory is known exactly, so the
//! estimate is scaled to it.

use super::numa_maps::add;
use super::vmas::{Kind, Vma};
use super::{Found, NodeBytes};
use std::collections::BTreeMap;
use topotop_model::Reason;

/// Hits that are wanted: the share of a node is then known to 3 points.
const WANTED: usize = 1024;
/// Hits below which nothing is claimed.
const LEAST: usize = 32;
/// The most addresses of one process.
const MOST_DRAWS: usize = 16 << 10;
/// The most addresses of one round.
const MOST_PER_ROUND: usize = 4096;
/// Pieces that a sparse mapping is cut into, to find its dense parts.
const PIECES: u64 = 256;
/// The most zones: a hostile process may have many sparse mappings.
const MOST_ZONES: usize = 1 << 17;
/// 97.5 % quantile of the normal distribution.
const Z: f64 = 1.96;

/// A process as the sampler sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Subject<'a> {
    /// Where pages may be.
    pub(super) vmas: &'a [Vma],
    /// Resident memory, huge page pools excluded.
    pub(super) rss_bytes: u64,
    /// Bytes of a page.
    pub(super) page_bytes: u64,
}

/// A part of a mapping.
#[derive(Debug)]
struct Zone {
    start: u64,
    pages: u64,
    kind: Kind,
    draws: f64,
    hits: f64,
}

/// Estimates the bytes by node; none when too few pages were found. `ask` gives the node of each address.
pub(super) fn estimate(
    subject: Subject<'_>,
    random: &mut Random,
    mut ask: impl FnMut(&[u64]) -> Result<Vec<i32>, Reason>,
) -> Result<Option<Found>, Reason> {
    let page = subject.page_bytes.max(1);
    let rss_pages = (subject.rss_bytes / page).max(1);
    let mut zones = zones(subject.vmas, page, rss_pages);
    // A zone cannot hold more resident pages than the process has.
    let first: Vec<f64> = zones.iter().map(|zone| zone.pages.min(rss_pages) as f64).collect();
    let mut hits: Vec<(usize, u32)> = Vec::new();
    let (mut drawn, mut odds) = (0, first.clone());
    let mut round = WANTED + WANTED / 4;
    while hits.len() < WANTED && drawn < MOST_DRAWS {
        let draws = draw(&mut zones, &odds, round, page, random);
        if draws.is_empty() {
            break;
        }
        drawn += draws.len();
        let addresses: Vec<u64> = draws.iter().map(|draw| draw.1).collect();
        for ((zone, _), node) in draws.into_iter().zip(ask(&addresses)?) {
            let Ok(node) = u32::try_from(node) else { continue };
            hits.push((zone, node));
            if let Some(zone) = zones.get_mut(zone) {
                zone.hits += 1.0;
            }
        }
        let rate = (hits.len() as f64 / drawn as f64).max(1e-4);
        let missing = WANTED.saturating_sub(hits.len()) as f64;
        round = ((missing / rate) as usize).clamp(WANTED / 4, MOST_PER_ROUND).min(MOST_DRAWS - drawn.min(MOST_DRAWS));
        odds = next_odds(&zones, &first);
    }
    if hits.len() < LEAST {
        return Ok(None);
    }
    Ok(Some(sum_up(&zones, &hits, subject.rss_bytes, page)))
}

fn zones(vmas: &[Vma], page: u64, rss_pages: u64) -> Vec<Zone> {
    let mut zones = Vec::with_capacity(vmas.len());
    for vma in vmas {
        let pages = vma.len / page;
        let sparse = pages > rss_pages.saturating_mul(4) && pages > PIECES * 64 && zones.len() < MOST_ZONES;
        let piece = if sparse { pages.div_ceil(PIECES) } else { pages }.max(1);
        let mut done = 0;
        while done < pages {
            let pages = piece.min(pages - done);
            zones.push(Zone { start: vma.start + done * page, pages, kind: vma.kind, draws: 0.0, hits: 0.0 });
            done += pages;
        }
    }
    zones
}

/// Draws addresses: zones by evenly spaced points over their odds, pages in a zone at random. Notes how many draws were
/// to be expected of each zone.
fn draw(zones: &mut [Zone], odds: &[f64], count: usize, page: u64, random: &mut Random) -> Vec<(usize, u64)> {
    let total: f64 = odds.iter().sum();
    if total <= 0.0 || count == 0 {
        return Vec::new();
    }
    let step = total / count as f64;
    let mut next = random.fraction() * step;
    let mut passed = 0.0;
    let mut draws = Vec::with_capacity(count);
    for (index, (zone, &weight)) in zones.iter_mut().zip(odds).enumerate() {
        passed += weight;
        zone.draws += weight / step;
        while next < passed && draws.len() < count {
            draws.push((index, zone.start + random.below(zone.pages) * page));
            next += step;
        }
    }
    draws
}

/// Mostly where pages were found, in part everywhere: a zone that was unlucky gets another chance.
fn next_odds(zones: &[Zone], first: &[f64]) -> Vec<f64> {
    let found = |zone: &Zone| zone.pages as f64 * zone.hits / zone.draws.max(zone.hits).max(1.0);
    let (all_found, all_first) = (zones.iter().map(found).sum::<f64>(), first.iter().sum::<f64>());
    if all_found <= 0.0 {
        return first.to_vec();
    }
    let mix = |(zone, &first): (&Zone, &f64)| 0.8 * found(zone) / all_found + 0.2 * first / all_first;
    zones.iter().zip(first).map(mix).collect()
}

fn sum_up(zones: &[Zone], hits: &[(usize, u32)], rss_bytes: u64, page: u64) -> Found {
    let mut by_kind: BTreeMap<(u32, u8), f64> = BTreeMap::new();
    let (mut sum, mut squares, mut resident) = (0.0, 0.0, 0.0);
    let mut by_node: BTreeMap<u32, f64> = BTreeMap::new();
    for (zone, node) in hits.iter().filter_map(|&(zone, node)| Some((zones.get(zone)?, node))) {
        let pages = zone.pages as f64 / zone.draws.max(f64::MIN_POSITIVE);
        sum += pages;
        squares += pages * pages;
        if zone.kind != Kind::Huge {
            resident += pages;
        }
        *by_node.entry(node).or_default() += pages;
        *by_kind.entry((node, zone.kind as u8)).or_default() += pages;
    }
    let scale = if resident > 0.0 { rss_bytes as f64 / resident } else { 0.0 };
    let (mut anon, mut file) = (NodeBytes::new(), NodeBytes::new());
    for ((node, kind), pages) in by_kind {
        if kind == Kind::Huge as u8 {
            add(&mut anon, node, (pages * page as f64) as u64);
        } else if kind == Kind::Anon as u8 {
            add(&mut anon, node, (pages * scale) as u64);
        } else {
            add(&mut file, node, (pages * scale) as u64);
        }
    }
    // Hits that stand for many pages each tell less: this many equal ones would tell as much.
    let effective = sum * sum / squares;
    let error = by_node.values().map(|pages| half_width(pages / sum, effective)).fold(0.0, f64::max);
    Found { anon, file, policy: None, error }
}

/// Half the width of the 95 % interval (Wilson's) of a share: about 1.96 √(p(1−p)/n), and not zero where all of a
/// small sample was on one node.
fn half_width(share: f64, n: f64) -> f64 {
    let share = share.clamp(0.0, 1.0);
    let spread = share * (1.0 - share) / n + Z * Z / (4.0 * n * n);
    (Z / (1.0 + Z * Z / n) * spread.sqrt()).min(1.0)
}

/// Pseudo-random numbers (SplitMix64): good enough to choose pages, repeatable in tests.
#[derive(Clone, Copy, Debug)]
pub(super) struct Random(pub(super) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::{Found, Kind, Random, Subject, Vma, estimate};
    use proptest::prelude::*;

    const PAGE: u64 = 4096;
    const GIB: u64 = 1 << 30;

    fn vma(start: u64, len: u64, kind: Kind) -> Vma {
        Vma { start, len, kind }
    }

    fn asked(vmas: &[Vma], rss_bytes: u64, node_of: impl Fn(u64) -> i32) -> Option<Found> {
        let subject = Subject { vmas, rss_bytes, page_bytes: PAGE };
        let ask = |addresses: &[u64]| Ok(addresses.iter().map(|&address| node_of(address)).collect());
        estimate(subject, &mut Random(7), ask).expect("answered")
    }

    fn share(found: &Found, node: u32) -> f64 {
        let sum: u64 = found.anon.values().chain(found.file.values()).sum();
        let own = found.anon.get(&node).copied().unwrap_or(0) + found.file.get(&node).copied().unwrap_or(0);
        own as f64 / sum as f64
    }

    #[test]
    fn a_dense_process_to_three_points() {
        let vmas = [vma(GIB, GIB, Kind::Anon), vma(4 * GIB, GIB / 4, Kind::File)];
        // A quarter of the anonymous memory on node 3, all files on node 0.
        let found = asked(&vmas, GIB + GIB / 4, |address| if address < GIB + GIB / 4 { 3 } else { 0 }).expect("found");
        assert!((share(&found, 3) - 0.2).abs() < 0.03, "{found:?}");
        assert!(found.error > 0.015 && found.error < 0.035, "{found:?}");
        let file: u64 = found.file.values().sum();
        assert!((file as f64 / (GIB / 4) as f64 - 1.0).abs() < 0.15, "{found:?}");
        let all: u64 = found.anon.values().chain(found.file.values()).sum();
        assert!(all.abs_diff(GIB + GIB / 4) < 8, "scaled to what is resident");
    }

    #[test]
    fn a_sparse_mapping_counts_by_its_pages() {
        // 1 GiB in use at the start of a reservation of 256 GiB on node 1, and a dense 1 GiB on node 0.
        let (dense, sparse) = (vma(GIB, GIB, Kind::Anon), vma(1000 * GIB, 256 * GIB, Kind::Anon));
        let node_of = |address: u64| match address {
            address if address < 1000 * GIB => 0,
            address if address < 1001 * GIB => 1,
            _ => -2,
        };
        let found = asked(&[dense, sparse], 2 * GIB, node_of).expect("found");
        assert!((share(&found, 1) - 0.5).abs() < 0.1, "{found:?}");
        assert!((share(&found, 1) - 0.5).abs() < found.error * 2.0, "{found:?}");
    }

    #[test]
    fn huge_pages_are_no_part_of_the_resident_memory() {
        let vmas = [vma(GIB, GIB, Kind::Huge), vma(8 * GIB, GIB / 2, Kind::Anon)];
        let found = asked(&vmas, GIB / 2, |address| i32::from(address < 8 * GIB)).expect("found");
        let on = |node| found.anon.get(&node).copied().unwrap_or(0) as f64 / GIB as f64;
        assert!((on(1) - 1.0).abs() < 0.1 && (on(0) - 0.5).abs() < 0.05, "{found:?}");
    }

    #[test]
    fn claims_nothing_of_what_it_did_not_find() {
        assert_eq!(asked(&[vma(GIB, GIB, Kind::Anon)], PAGE, |_| -2), None);
        assert_eq!(asked(&[], PAGE, |_| 0), None);
        assert_eq!(asked(&[vma(0, 12, Kind::Anon)], PAGE, |_| 0), None);
    }

    proptest! {
        #[test]
        fn no_mappings_panic(parts: Vec<(u64, u64)>, rss: u64, seed: u64) {
            let vmas: Vec<Vma> = parts
                .iter()
                .take(16)
                .map(|&(start, len)| vma(start >> 1, len >> 1, Kind::Anon))
                .collect();
            let subject = Subject { vmas: &vmas, rss_bytes: rss, page_bytes: PAGE };
            let _ = estimate(subject, &mut Random(seed), |addresses| Ok(vec![(seed % 3) as i32 - 1; addresses.len()]));
        }
    }
}
