//! What a person has chosen: language and theme. The server reads it from the request, the browser from `<html>`, so
//! that both write the same page.

/// A language of the console.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Lang {
    /// English.
    #[default]
    En,
    /// 简体中文.
    Zh,
}

impl Lang {
    /// As the `lang` attribute says it.
    pub const fn tag(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::Zh => "zh-CN",
        }
    }

    /// As the cookie and `/prefs?lang=` say it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::Zh => "zh",
        }
    }

    /// Its own name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::En => "English",
            Self::Zh => "简体中文",
        }
    }

    /// From a language tag: `zh`, `zh-CN`, `en-GB`.
    pub fn from_tag(tag: &str) -> Option<Self> {
        match tag.split('-').next()? {
            primary if primary.eq_ignore_ascii_case("zh") => Some(Self::Zh),
            primary if primary.eq_ignore_ascii_case("en") => Some(Self::En),
            _ => None,
        }
    }

    /// The language of an `Accept-Language` header that has the greatest weight; the first of equals.
    pub fn from_accept_language(header: &str) -> Option<Self> {
        let mut best: Option<(Self, f32)> = None;
        for part in header.split(',') {
            let mut pieces = part.split(';');
            let Some(lang) = pieces.next().and_then(|tag| Self::from_tag(tag.trim())) else { continue };
            let weight = pieces
                .find_map(|p| p.trim().strip_prefix("q="))
                .map_or(1.0, |q| q.trim().parse::<f32>().unwrap_or(0.0));
            if weight > 0.0 && best.is_none_or(|(_, w)| weight > w) {
                best = Some((lang, weight));
            }
        }
        best.map(|(lang, _)| lang)
    }
}

/// Light or dark.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Theme {
    /// What the system says.
    #[default]
    System,
    /// Light.
    Light,
    /// Dark.
    Dark,
}

impl Theme {
    /// As the cookie, `data-theme` and `/prefs?theme=` say it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }

    /// From its word; anything else is the system's.
    pub fn from_word(word: &str) -> Self {
        match word {
            "light" => Self::Light,
            "dark" => Self::Dark,
            _ => Self::System,
        }
    }
}

/// What a page needs to know of the request besides its address. The server provides it as a context.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prefs {
    /// Language.
    pub lang: Lang,
    /// Theme.
    pub theme: Theme,
    /// Scheme, host and port under which the caller reached this server, for commands to copy. No slash at the end.
    pub origin: String,
    /// Whether a password is set and this caller has signed in, so that signing out is offered.
    pub session: bool,
}

/// The cookie that holds the language.
pub const LANG_COOKIE: &str = "penstock_lang";
/// The cookie that holds the theme.
pub const THEME_COOKIE: &str = "penstock_theme";

impl Prefs {
    /// From the request's `Cookie` and `Accept-Language` headers.
    pub fn from_headers(cookies: &str, accept_language: &str, origin: String, session: bool) -> Self {
        let cookie = |name: &str| {
            cookies.split(';').find_map(|pair| pair.trim().strip_prefix(name)?.strip_prefix('=').map(str::to_owned))
        };
        Self {
            lang: cookie(LANG_COOKIE)
                .and_then(|word| Lang::from_tag(&word))
                .or_else(|| Lang::from_accept_language(accept_language))
                .unwrap_or_default(),
            theme: cookie(THEME_COOKIE).map(|word| Theme::from_word(&word)).unwrap_or_default(),
            origin,
            session,
        }
    }

    /// From the page that the server wrote.
    #[cfg(feature = "hydrate")]
    pub fn from_document() -> Self {
        let Some(html) = leptos::prelude::document().document_element() else { return Self::default() };
        let attribute = |name: &str| html.get_attribute(name).unwrap_or_default();
        Self {
            lang: Lang::from_tag(&attribute("lang")).unwrap_or_default(),
            theme: Theme::from_word(&attribute("data-theme")),
            origin: attribute("data-origin"),
            session: attribute("data-session") == "true",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lang(cookies: &str, accept: &str) -> Lang {
        Prefs::from_headers(cookies, accept, String::new(), false).lang
    }

    #[test]
    fn the_cookie_wins_over_the_header_and_the_header_over_english() {
        assert_eq!(lang("a=1; penstock_lang=zh", "en-GB"), Lang::Zh);
        assert_eq!(lang("penstock_lang=xx", "fr, zh-CN;q=0.9, en;q=0.8"), Lang::Zh);
        assert_eq!(lang("", "en;q=0.2, zh;q=0.1"), Lang::En);
        assert_eq!(lang("", "de"), Lang::En);
        assert_eq!(lang("", "zh;q=0"), Lang::En);
    }

    #[test]
    fn an_unknown_theme_is_the_systems() {
        let theme = |c: &str| Prefs::from_headers(c, "", String::new(), false).theme;
        assert_eq!(theme("penstock_theme=dark"), Theme::Dark);
        assert_eq!(theme("penstock_theme=\"><script>"), Theme::System);
    }
}
