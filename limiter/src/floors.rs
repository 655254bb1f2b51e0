//! What each class is guaranteed while others press (L9, F6).

use thiserror::Error;

use crate::waiters::Class;

/// Credit that one grant costs.
const GRANT: u32 = 10_000;
/// Two classes may fall due at once; the one that waits must not lose what it earns meanwhile.
const MOST: u32 = 2 * GRANT;

/// Why floors were not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FloorsError {
    /// A floor outside 0 to 1.
    #[error("a floor must lie between 0 and 1")]
    Range,
    /// Together more than everything.
    #[error("floors add up to more than 1")]
    Sum,
}

/// The share of grants that each class gets while it has work waiting, whatever the others want. What a class does not use goes
/// to the others by priority.
///
/// Shares of grants, so of calls, between 0 and 1. Source: (L9), (F6).
///
/// ```
/// use limiter::{Floors, FloorsError};
///
/// assert!(Floors::new(0.5, 0.3, 0.1).is_ok());
/// assert_eq!(Floors::new(0.5, 0.5, 0.1), Err(FloorsError::Sum));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Floors {
    interactive: u32,
    batch: u32,
    retry: u32,
}

impl Floors {
    /// Shares between 0 and 1 that add up to at most 1, kept to a hundredth of a percent. A class with a floor of 0 may wait for
    /// as long as the others keep coming.
    pub fn new(interactive: f64, batch: f64, retry: f64) -> Result<Self, FloorsError> {
        let floors = Self { interactive: parts(interactive)?, batch: parts(batch)?, retry: parts(retry)? };
        // As the shares were given: their parts are rounded down.
        if interactive + batch + retry > 1.0 + 1e-9 { Err(FloorsError::Sum) } else { Ok(floors) }
    }

    const fn of(self, class: Class) -> u32 {
        match class {
            Class::Interactive => self.interactive,
            Class::Batch => self.batch,
            Class::Retry => self.retry,
        }
    }
}

impl Default for Floors {
    /// Interactive 0.3, batch 0.3, retry 0.1.
    fn default() -> Self {
        Self { interactive: 3_000, batch: 3_000, retry: 1_000 }
    }
}

fn parts(share: f64) -> Result<u32, FloorsError> {
    if !(0.0..=1.0).contains(&share) {
        return Err(FloorsError::Range);
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked: between 0 and GRANT")]
    Ok((share * f64::from(GRANT) + 1e-6).floor() as u32)
}

/// Deficit round robin (Shreedhar and Varghese, 1995), turned round: a small bucket per class that is refilled by grants instead of by time: each grant earns every class its floor, and costs the
/// class that got it one. So a floor is a share of what is really granted, whichever dimension binds, tokens and concurrency
/// included.
#[derive(Clone, Debug)]
pub(crate) struct Credits {
    floors: Floors,
    earned: [(Class, u32); 3],
}

impl Credits {
    pub(crate) fn new(floors: Floors) -> Self {
        Self { floors, earned: Class::ALL.map(|class| (class, 0)) }
    }

    pub(crate) fn reconfigure(&mut self, floors: Floors) {
        self.floors = floors;
    }

    /// Whether `class` is owed a grant.
    pub(crate) fn is_due(&self, class: Class) -> bool {
        self.earned.iter().any(|(known, credit)| *known == class && *credit >= GRANT)
    }

    /// Notes a grant to `class`.
    pub(crate) fn granted(&mut self, to: Class) {
        for (class, credit) in &mut self.earned {
            *credit = (*credit + self.floors.of(*class)).min(MOST);
            if *class == to {
                *credit = credit.saturating_sub(GRANT);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floors_are_checked() {
        assert!(Floors::new(0.5, 0.4, 0.1).is_ok());
        assert_eq!(Floors::new(0.5, 0.5, 0.1), Err(FloorsError::Sum));
        assert_eq!(Floors::new(-0.1, 0.5, 0.1), Err(FloorsError::Range));
        assert_eq!(Floors::new(f64::NAN, 0.5, 0.1), Err(FloorsError::Range));
        assert_eq!(Floors::new(0.3, 0.3, 0.1), Ok(Floors::default()));
        assert!(Floors::new(0.333_35, 0.333_35, 0.333_3).is_ok(), "exactly one");
    }
}
