//! Styles by meaning; themes are data.

use crate::themes;
use ratatui::style::{Color, Modifier, Style};
use serde::Deserialize;
use std::collections::BTreeMap;
use topotop_model::locale::theme as text;

macro_rules! roles {
    ($($(#[$doc:meta])* $role:ident = $name:literal),+ $(,)?) => {
        /// What a piece of screen means.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Role {
            $($(#[$doc])* $role,)+
        }

        impl Role {
            /// Every role.
            pub const ALL: &'static [Self] = &[$(Self::$role),+];

            /// Its name in theme files.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$role => $name,)+
                }
            }
        }
    };
}

roles! {
    /// Plain text.
    Text = "text",
    /// Less important text.
    Dim = "dim",
    /// Lines around panels.
    Border = "border",
    /// Lines around the panel that keys go to.
    Focus = "focus",
    /// Titles of panels.
    Title = "title",
    /// Column heads.
    Head = "head",
    /// Keys in help and footer.
    Key = "key",
    /// The selected row.
    Selected = "selected",
    /// What belongs to the selected subject on other panels.
    Related = "related",
    /// Good.
    Ok = "ok",
    /// Worth knowing.
    Info = "info",
    /// Trouble ahead.
    Warn = "warn",
    /// Trouble.
    Critical = "critical",
    /// Could not be read for want of permission.
    Denied = "denied",
    /// Older than it should be.
    Stale = "stale",
    /// Not there, not applicable.
    Absent = "absent",
    /// A recording is shown, or the past.
    Replay = "replay",
    /// Heat 0..20 %.
    Heat0 = "heat.0",
    /// Heat 20..40 %.
    Heat1 = "heat.1",
    /// Heat 40..60 %.
    Heat2 = "heat.2",
    /// Heat 60..80 %.
    Heat3 = "heat.3",
    /// Heat 80..100 %.
    Heat4 = "heat.4",
    /// Time in user mode.
    User = "cpu.user",
    /// Time in kernel mode.
    System = "cpu.system",
    /// Time in hard and soft interrupts.
    Softirq = "cpu.softirq",
    /// Time waiting for disks.
    Iowait = "cpu.iowait",
    /// Time taken by the hypervisor.
    Steal = "cpu.steal",
    /// Anonymous memory.
    Anon = "memory.anon",
    /// Page cache that can go.
    Cache = "memory.cache",
    /// Page cache that cannot go: shared memory, locked.
    Pinned = "memory.pinned",
    /// Page cache that must be written first.
    Dirty = "memory.dirty",
    /// Free.
    Free = "memory.free",
    /// Node 0, 4, 8, …
    Node0 = "node.0",
    /// Node 1, 5, …
    Node1 = "node.1",
    /// Node 2, 6, …
    Node2 = "node.2",
    /// Node 3, 7, …
    Node3 = "node.3",
}

impl Role {
    /// The heat of a share 0..1.
    pub fn heat(share: f64) -> Self {
        match share {
            share if share >= 0.8 => Self::Heat4,
            share if share >= 0.6 => Self::Heat3,
            share if share >= 0.4 => Self::Heat2,
            share if share >= 0.2 => Self::Heat1,
            _ => Self::Heat0,
        }
    }

    /// The colour of a node.
    pub fn node(node: u32) -> Self {
        match node % 4 {
            0 => Self::Node0,
            1 => Self::Node1,
            2 => Self::Node2,
            _ => Self::Node3,
        }
    }
}

/// Why a theme file is no theme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThemeError(pub String);

impl std::fmt::Display for ThemeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ThemeError {}

/// A style for every role.
#[derive(Clone, Debug)]
pub struct Theme {
    /// Its name.
    pub name: String,
    styles: Vec<Style>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    #[serde(default)]
    palette: BTreeMap<String, String>,
    roles: BTreeMap<String, Spec>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Spec {
    fg: Option<String>,
    bg: Option<String>,
    #[serde(default)]
    modifiers: Vec<String>,
}

impl Theme {
    /// A theme from the text of a theme file: every role, no other.
    pub fn parse(text: &str) -> Result<Self, ThemeError> {
        let file: File = toml::from_str(text).map_err(|error| ThemeError(error.message().to_owned()))?;
        if let Some(unknown) = file.roles.keys().find(|name| Role::ALL.iter().all(|role| role.name() != name.as_str()))
        {
            return Err(ThemeError(text::UnknownRole { name: unknown }.to_string()));
        }
        let mut styles = Vec::with_capacity(Role::ALL.len());
        for role in Role::ALL {
            let missing = || ThemeError(text::NoRole { name: &role.name() }.to_string());
            let spec = file.roles.get(role.name()).ok_or_else(missing)?;
            styles.push(style(spec, &file.palette)?);
        }
        Ok(Self { name: file.name, styles })
    }

    /// The theme that is used unless another is asked for.
    pub fn default_theme() -> Self {
        themes::ALL.first().and_then(|(_, text)| Self::parse(text).ok()).unwrap_or_else(Self::plain)
    }

    /// No styles at all.
    pub fn plain() -> Self {
        Self { name: "plain".to_owned(), styles: Vec::new() }
    }

    /// The style of a role.
    pub fn style(&self, role: Role) -> Style {
        self.styles.get(role as usize).copied().unwrap_or_default()
    }

    /// Every colour that it uses.
    pub(crate) fn colours(&self) -> impl Iterator<Item = Color> + '_ {
        self.styles.iter().flat_map(|style| [style.fg, style.bg]).flatten()
    }

    /// The same theme with every colour replaced.
    pub(crate) fn recoloured(mut self, replace: impl Fn(Color) -> Color) -> Self {
        for style in &mut self.styles {
            style.fg = style.fg.map(&replace);
            style.bg = style.bg.map(&replace);
        }
        self
    }

    /// The same theme without colours: modifiers stay, and what stood out by its background is reversed.
    #[must_use]
    pub fn without_colour(mut self) -> Self {
        for (style, role) in self.styles.iter_mut().zip(Role::ALL) {
            if style.bg.is_some() && *role != Role::Text {
                *style = style.add_modifier(Modifier::REVERSED);
            }
            (style.fg, style.bg) = (None, None);
        }
        self
    }
}

fn style(spec: &Spec, palette: &BTreeMap<String, String>) -> Result<Style, ThemeError> {
    let mut style = Style::new();
    if let Some(name) = &spec.fg {
        style = style.fg(colour(name, palette)?);
    }
    if let Some(name) = &spec.bg {
        style = style.bg(colour(name, palette)?);
    }
    for name in &spec.modifiers {
        style = style.add_modifier(match name.as_str() {
            "bold" => Modifier::BOLD,
            "dim" => Modifier::DIM,
            "italic" => Modifier::ITALIC,
            "underlined" => Modifier::UNDERLINED,
            "reversed" => Modifier::REVERSED,
            other => return Err(ThemeError(text::UnknownModifier { name: &other }.to_string())),
        });
    }
    Ok(style)
}

/// A palette name, a name that ratatui knows, `#rrggbb`, or an index of the 256 colours.
fn colour(name: &str, palette: &BTreeMap<String, String>) -> Result<Color, ThemeError> {
    let name = palette.get(name).map_or(name, String::as_str);
    name.parse().map_err(|_| ThemeError(text::UnknownColour { name: &name }.to_string()))
}
