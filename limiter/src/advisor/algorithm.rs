//! Which bucket (L11): one that saves up, or one that flows evenly.

use std::fmt;

use super::words;

/// What a provider or its callers need of a limiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Need {
    /// The provider breaks above so many calls at once.
    HardConcurrency = 1,
    /// What is behind the provider can't be made to grow.
    CannotScale = 2,
    /// Calls must arrive evenly spaced.
    EvenSpacing = 4,
    /// Callers come in bursts.
    Bursts = 8,
    /// Calls differ in size or weight.
    UnequalCalls = 16,
    /// As much of the quota as possible is to be used.
    Utilisation = 32,
}

impl Need {
    const LEAKY: [Self; 3] = [Self::HardConcurrency, Self::CannotScale, Self::EvenSpacing];
    const TOKEN: [Self; 3] = [Self::Bursts, Self::UnequalCalls, Self::Utilisation];

    const fn words(self) -> &'static str {
        match self {
            Self::HardConcurrency => "the provider breaks above a number of calls at once",
            Self::CannotScale => "what serves the calls can't grow",
            Self::EvenSpacing => "calls must arrive evenly spaced",
            Self::Bursts => "callers come in bursts",
            Self::UnequalCalls => "calls differ in size",
            Self::Utilisation => "the quota is to be used as fully as possible",
        }
    }
}

/// A set of needs.
///
/// ```
/// use limiter::advisor::{Need, Needs};
///
/// let needs = Needs::NONE.with(Need::Bursts).with(Need::UnequalCalls);
/// assert!(needs.has(Need::Bursts) && !needs.has(Need::EvenSpacing));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs(u8);

impl Needs {
    /// None.
    pub const NONE: Self = Self(0);

    /// These and `need`.
    #[must_use]
    pub const fn with(self, need: Need) -> Self {
        Self(self.0 | need as u8)
    }

    /// Whether `need` is one of them.
    pub const fn has(self, need: Need) -> bool {
        self.0 & need as u8 != 0
    }

    /// Those of `needs` that are among these, in words.
    fn words(self, needs: [Need; 3]) -> Vec<String> {
        needs.into_iter().filter(|need| self.has(*need)).map(|need| need.words().to_owned()).collect()
    }
}

/// Which bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// Saves up while idle, so that bursts pass.
    TokenBucket,
    /// Lets one call pass at a time, evenly spaced. Here a token bucket with the smallest burst.
    LeakyBucket,
}

/// Which bucket, and why.
///
/// A leaky bucket where the provider would be harmed by calls that come together, whatever else is needed: a burst too much
/// breaks something, one too few only waits. Otherwise a token bucket, which loses nothing of the quota while callers pause.
///
/// ```
/// use limiter::advisor::{Algorithm, AlgorithmAdvice, Need, Needs};
///
/// let advice = AlgorithmAdvice::of(Needs::NONE.with(Need::Bursts).with(Need::CannotScale));
/// assert_eq!(advice.algorithm, Algorithm::LeakyBucket);
/// assert_eq!(AlgorithmAdvice::of(Needs::NONE).algorithm, Algorithm::TokenBucket);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AlgorithmAdvice {
    /// Which bucket.
    pub algorithm: Algorithm,
    needs: Needs,
}

impl AlgorithmAdvice {
    /// The advice for `needs`.
    pub fn of(needs: Needs) -> Self {
        let leaky = Need::LEAKY.into_iter().any(|need| needs.has(need));
        Self { algorithm: if leaky { Algorithm::LeakyBucket } else { Algorithm::TokenBucket }, needs }
    }

    /// The reason in words.
    pub fn reason(&self) -> String {
        self.to_string()
    }
}

impl fmt::Display for AlgorithmAdvice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (leaky, token) = (words::list(&self.needs.words(Need::LEAKY)), words::list(&self.needs.words(Need::TOKEN)));
        match self.algorithm {
            Algorithm::TokenBucket if token.is_empty() => f.write_str(
                "A token bucket: nothing speaks against bursts, and what is saved up while callers pause is used later.",
            ),
            Algorithm::TokenBucket => write!(
                f,
                "A token bucket, because {token}: it saves up while callers pause and lets calls of any size pass together."
            ),
            Algorithm::LeakyBucket => {
                write!(f, "A leaky bucket, because {leaky}: it lets calls pass one at a time, evenly spaced.")?;
                if !token.is_empty() {
                    write!(f, " A token bucket would suit better in that {token}, but harm weighs more than waiting.")?;
                }
                if self.needs.has(Need::HardConcurrency) {
                    f.write_str(" Limit the calls under way as well: calls that slow down pile up at any rate.")?;
                }
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(need: Need) -> AlgorithmAdvice {
        AlgorithmAdvice::of(Needs::NONE.with(need))
    }

    #[test]
    fn each_need_has_its_bucket() {
        for need in Need::LEAKY {
            assert_eq!(one(need).algorithm, Algorithm::LeakyBucket, "{need:?}");
        }
        for need in Need::TOKEN {
            assert_eq!(one(need).algorithm, Algorithm::TokenBucket, "{need:?}");
        }
        for need in Need::LEAKY.into_iter().chain(Need::TOKEN) {
            assert!(one(need).reason().contains(need.words()), "{need:?}");
        }
    }

    #[test]
    fn harm_weighs_more_than_waiting() {
        for leaky in Need::LEAKY {
            for token in Need::TOKEN {
                let advice = AlgorithmAdvice::of(Needs::NONE.with(leaky).with(token));
                assert_eq!(advice.algorithm, Algorithm::LeakyBucket);
                assert!(advice.reason().contains(leaky.words()) && advice.reason().contains(token.words()));
            }
        }
    }

    #[test]
    fn a_hard_limit_of_concurrency_asks_for_a_limit_of_its_own() {
        assert!(one(Need::HardConcurrency).reason().contains("Limit the calls under way"));
        assert!(!one(Need::EvenSpacing).reason().contains("Limit the calls under way"));
    }
}
