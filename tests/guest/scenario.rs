//! What a scenario is made of: a problem, the finding that it has to cause, and fixes that are applied and undone.

use crate::parts::Parts;
use crate::samples::Samples;

/// What a check shows, in a line; else why it failed.
pub(crate) type Outcome = Result<String, String>;

/// One kind of problem, or of health that looks like one.
#[derive(Clone, Copy)]
pub(crate) struct Scenario {
    /// Words joined by dashes, unique among all scenarios.
    pub(crate) name: &'static str,
    /// What it proves, in one line.
    pub(crate) proves: &'static str,
    /// Seconds it takes on a quiet machine with two cores; its limit and the selection follow from it.
    pub(crate) seconds: u64,
    /// Shell commands that cause the problem; `lib.sh` has what they share.
    pub(crate) inject: &'static str,
    /// Shell commands that end it; afterwards no warning may be left. Empty where nothing has to end.
    pub(crate) clean: &'static str,
    /// Samples with rates that are taken of the problem.
    pub(crate) samples: u32,
    /// Between samples.
    pub(crate) interval_ms: u32,
    /// Whether it needs packets from outside.
    pub(crate) network: bool,
    /// What the samples have to show.
    pub(crate) expected: Expected,
    /// What is done about the problem, in this order, before `clean`.
    pub(crate) steps: &'static [Step],
    /// What no step checks by itself.
    pub(crate) check: fn(&Parts) -> Outcome,
}

/// A healthy machine that is watched for six seconds.
pub(crate) const PLAIN: Scenario = Scenario {
    name: "",
    proves: "",
    seconds: 20,
    inject: "",
    clean: "",
    samples: 12,
    interval_ms: 500,
    network: false,
    expected: Expected::Quiet,
    steps: &[],
    check: |_| Ok(String::new()),
};

impl Scenario {
    /// Seconds after which it counts as hung: a machine that shares its host with compilers is several times slower.
    pub(crate) fn limit_seconds(&self) -> u64 {
        180 + 6 * self.seconds
    }
}

/// What the samples of a problem have to show.
#[derive(Clone, Copy)]
pub(crate) enum Expected {
    /// No warning.
    Quiet,
    /// A finding, and no warning of rules that do not belong to it.
    Finding(Finding),
    /// What a function says.
    Check(fn(&Samples) -> Outcome),
    /// No samples are taken: a step measures instead.
    Nothing,
}

/// A finding at warning or worse.
#[derive(Clone, Copy)]
pub(crate) struct Finding {
    pub(crate) rule: &'static str,
    /// How its subject begins.
    pub(crate) subject: &'static str,
    /// Numbers of its evidence with their least and greatest value.
    pub(crate) numbers: &'static [(&'static str, f64, f64)],
    /// Texts of its evidence and what they contain.
    pub(crate) texts: &'static [(&'static str, &'static str)],
    /// Rules whose findings it groups.
    pub(crate) groups: &'static [&'static str],
    /// Other rules that may warn at the same time.
    pub(crate) beside: &'static [&'static str],
}

/// A finding of which only rule and subject matter.
pub(crate) const FINDING: Finding =
    Finding { rule: "", subject: "", numbers: &[], texts: &[], groups: &[], beside: &[] };

/// Something done in a guest. Texts are shell: variables of the scenario are expanded in them, single quotes are not
/// allowed in `state` and `observe`.
#[derive(Clone, Copy)]
pub(crate) enum Step {
    /// Shell commands.
    Shell(&'static str),
    /// `fix list` offers these fixes, in this order.
    Offers(&'static [&'static str]),
    /// `fix apply`, then `fix undo`.
    Apply(Apply),
    /// The same in the terminal interface.
    Keys(Keys),
    /// `fix apply` that must refuse and change nothing.
    Refuse(Refuse),
    /// The raw effect of a fix, measured several times.
    Measure(Measure),
    /// The program's own verdict on a fix, several times.
    Improves(Improves),
}

/// A fix applied and undone on the command line, without waiting for its verdict.
#[derive(Clone, Copy)]
pub(crate) struct Apply {
    /// Unique within the scenario.
    pub(crate) name: &'static str,
    /// `RULE/SUBJECT/FIX`.
    pub(crate) id: &'static str,
    /// More options.
    pub(crate) options: &'static str,
    /// A command that prints all that the undo has to restore.
    pub(crate) state: &'static str,
    /// What `state` contains while the fix is in force.
    pub(crate) sets: &'static [&'static str],
    /// What the commands in the journal contain.
    pub(crate) commands: &'static [&'static str],
    /// A command whose output is kept before, during and after, for the scenario's own check.
    pub(crate) observe: &'static str,
    /// False where nothing of it can be undone.
    pub(crate) undo: bool,
}

/// A fix with an undo.
pub(crate) const APPLY: Apply =
    Apply { name: "apply", id: "", options: "", state: "", sets: &[], commands: &[], observe: "", undo: true };

/// A fix chosen, applied and undone by keys.
#[derive(Clone, Copy)]
pub(crate) struct Keys {
    /// Unique within the scenario.
    pub(crate) name: &'static str,
    pub(crate) rule: &'static str,
    pub(crate) fix: &'static str,
    /// Parameters as they are typed.
    pub(crate) set: &'static str,
    /// A command that prints all that the undo has to restore.
    pub(crate) state: &'static str,
    /// What the journal contains of it: commands and values.
    pub(crate) journal: &'static [&'static str],
    /// A network interface that the login came in by: the fix is dangerous then, and must be kept within its time.
    pub(crate) login: &'static str,
}

/// A fix without parameters.
pub(crate) const KEYS: Keys = Keys { name: "keys", rule: "", fix: "", set: "", state: "", journal: &[], login: "" };

/// A fix that must not be applied.
#[derive(Clone, Copy)]
pub(crate) struct Refuse {
    /// Unique within the scenario.
    pub(crate) name: &'static str,
    pub(crate) id: &'static str,
    pub(crate) options: &'static str,
    pub(crate) rights: Rights,
    /// A command that prints all that must stay as it is.
    pub(crate) state: &'static str,
    /// What the refusal contains.
    pub(crate) says: &'static [&'static str],
}

/// Who asks.
#[derive(Clone, Copy)]
pub(crate) enum Rights {
    Root,
    RootWithoutNetAdmin,
    Nobody,
}

/// The raw effect of a fix: a figure without it and with it, several times, independent of the program's verdict.
#[derive(Clone, Copy)]
pub(crate) struct Measure {
    pub(crate) id: &'static str,
    pub(crate) options: &'static str,
    /// A command that takes some seconds and prints a number.
    pub(crate) figure: &'static str,
    /// What the number is, with its unit.
    pub(crate) what: &'static str,
    /// Commands before each figure: load that would run out.
    pub(crate) load: &'static str,
    /// How often.
    pub(crate) rounds: usize,
    /// What the ratio with / without has to be.
    pub(crate) bound: Bound,
}

/// `fix apply` that waits for its verdict, and `fix undo`, several times: `improved` each time, with an interval.
#[derive(Clone, Copy)]
pub(crate) struct Improves {
    pub(crate) id: &'static str,
    pub(crate) options: &'static str,
    /// Commands before each application: load that would run out.
    pub(crate) load: &'static str,
    /// How often.
    pub(crate) rounds: usize,
}

/// A bound that the median of all rounds has to reach; every single round has to go the right way.
#[derive(Clone, Copy)]
pub(crate) enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

/// An error where something does not hold.
pub(crate) fn holds(what: bool, why: impl Into<String>) -> Result<(), String> {
    if what { Ok(()) } else { Err(why.into()) }
}
