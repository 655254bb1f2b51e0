//! What a request will cost, before it is sent.

use app::model::upstream::Profile;

use super::profile::rules;

/// The tokens that a request will cost, roughly, from its body; settled after the answer. Never 0.
pub fn estimate(profile: Profile, body: &[u8]) -> u64 {
    rules(profile).estimate(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generic_counts_a_quarter_of_the_bytes() {
        assert_eq!(estimate(Profile::Generic, b""), 1);
        assert_eq!(estimate(Profile::Generic, b"12345"), 2);
        assert_eq!(estimate(Profile::Generic, &[0xff; 4000]), 1000);
    }
}
