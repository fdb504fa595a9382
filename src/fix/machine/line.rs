//! One line of a file that holds several: taken away by what the file takes for none.

use super::{Trouble, file};
use topotop_model::fix::Identity;

/// Writes the value of a line; an empty one takes the line away.
pub(super) fn write(path: &str, key: &str, value: &str, whose: &[Identity]) -> Result<(), Trouble> {
    let value = if value.is_empty() { none(path) } else { value };
    file::write(path, &format!("{key} {value}"), whose)
}

/// What a file takes for no line.
fn none(path: &str) -> &'static str {
    let name = path.rsplit('/').next().unwrap_or_default();
    match name {
        "io.max" => "rbps=max wbps=max riops=max wiops=max",
        _ if name.starts_with("blkio.throttle.") => "0",
        _ => "default",
    }
}

#[cfg(test)]
mod tests {
    use super::none;

    #[test]
    fn each_file_has_its_own_none() {
        assert_eq!(none("/sys/fs/cgroup/a/io.max"), "rbps=max wbps=max riops=max wiops=max");
        assert_eq!(none("/sys/fs/cgroup/blkio/a/blkio.throttle.write_iops_device"), "0");
        assert_eq!(none("/sys/fs/cgroup/a/io.bfq.weight"), "default");
    }
}
