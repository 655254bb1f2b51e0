//! The meter that a share of the quota is read on: the target band, the quota's end, and the share.

use leptos::prelude::*;

use crate::markup::view;

use super::state::Tone;
use crate::i18n::{Catalogue, whole};

/// A share between 0 and 1 as a percentage with one digit, for SVG attributes; never NaN.
pub(crate) fn at(share: f64) -> String {
    let tenths = whole(share.clamp(0.0, 1.0) * 1_000.0);
    format!("{}.{}%", tenths / 10, tenths % 10)
}

/// The meter of a share against a band.
pub(crate) fn band_meter(text: &Catalogue, share: f64, band: (f64, f64), tone: Tone) -> AnyView {
    let (low, high) = band;
    let label = (text.overview.meter)(&text.percent(share), &text.percent(low), &text.percent(high));
    meter(label, share, Some(band), tone)
}

/// A meter with its own words; with a band, or without.
pub(crate) fn meter(label: String, share: f64, band: Option<(f64, f64)>, tone: Tone) -> AnyView {
    let zone = band.map(|(low, high)| {
        view! {
            <rect class="zone" x=at(low) y="1" width=at(high - low) height="18" />
            <line class="edge" x1=at(low) x2=at(low) y1="0" y2="20" />
            <line class="edge" x1=at(high) x2=at(high) y1="0" y2="20" />
        }
    });
    view! {
        <svg class=format!("meter {}", tone.class()) role="img" aria-label=label height="20">
            <rect class="track" x="0" y="6" width="100%" height="8" rx="2" />
            {zone}
            <rect class="fill" x="0" y="6" width=at(share) height="8" rx="2" />
        </svg>
    }
    .into_any()
}
