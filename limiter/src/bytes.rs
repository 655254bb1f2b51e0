//! Byte rates (L7): one for all, and a cap for each tenant.

use std::collections::BTreeMap;

use crate::bucket::{Decision, TokenBucket};
use crate::clock::Nanos;
use crate::pace::IDLE;
use crate::rate::{Burst, Rate, RateError};
use crate::ratio::Ratio;

/// A byte rate that tenants share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteSpec {
    /// Bytes in a period, all together.
    pub total: Rate,
    /// Bytes at once; also what one tenant may take at once, as far as its share of it goes.
    pub burst: Burst,
    /// The most of both that one tenant gets: 50-70%.
    pub tenant: Ratio,
}

impl ByteSpec {
    /// 60% for one tenant, between the 50% that leave room for a second one and the 70% that leave some.
    pub const fn new(total: Rate, burst: Burst) -> Self {
        Self { total, burst, tenant: Ratio::percent(60) }
    }

    /// A tenant's rate and burst: at least a byte at once.
    fn tenants(&self) -> Result<(Rate, Burst), RateError> {
        let burst = u128::from(self.burst.get()) * u128::from(self.tenant.millionths()) / 1_000_000;
        Ok((self.total.scaled(self.tenant.get())?, Burst::new(u64::try_from(burst).unwrap_or(u64::MAX).max(1))?))
    }
}

/// A byte rate in total and per tenant, both or neither.
///
/// ```text
/// granted <=> total.check(bytes) and tenant.check(bytes)         tenant: share x total
/// ```
///
/// Guarantees: any interval of length t admits at most total x t + burst bytes, and of one tenant at most its share of both: who
/// is alone can't take all, so that a second one that comes finds room at once, without anybody being held back first. A tenant
/// whose bucket has been full for a second is forgotten. Bytes are asked for in pieces no larger than a tenant's burst.
///
/// Its unit is a byte. Source: (L7).
///
/// ```
/// use limiter::{Burst, ByteRates, ByteSpec, Decision, Nanos, Rate};
///
/// let spec = ByteSpec::new(Rate::per_second(10_000_000)?, Burst::new(1_000_000)?);
/// let mut bytes = ByteRates::new(spec, Nanos::ZERO)?;
/// assert_eq!(bytes.take(Nanos::ZERO, &"acme", 600_000), Decision::Granted);
/// assert!(matches!(bytes.take(Nanos::ZERO, &"acme", 1), Decision::NotUntil(_)), "its 60% are taken");
/// assert_eq!(bytes.take(Nanos::ZERO, &"globex", 400_000), Decision::Granted);
/// # Ok::<(), limiter::RateError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ByteRates<T> {
    total: TokenBucket,
    tenant: (Rate, Burst),
    tenants: BTreeMap<T, TokenBucket>,
}

impl<T: Ord + Clone> ByteRates<T> {
    /// Nothing taken yet. Fails where a tenant's share of the rate is nothing.
    pub fn new(spec: ByteSpec, now: Nanos) -> Result<Self, RateError> {
        let total = TokenBucket::full(spec.total, spec.burst, now);
        Ok(Self { total, tenant: spec.tenants()?, tenants: BTreeMap::new() })
    }

    /// What [`take`](Self::take) would answer.
    pub fn check(&self, now: Nanos, tenant: &T, bytes: u64) -> Decision {
        let own = match self.tenants.get(tenant) {
            Some(bucket) => bucket.check(now, bytes),
            None => TokenBucket::full(self.tenant.0, self.tenant.1, now).check(now, bytes),
        };
        match (self.total.check(now, bytes), own) {
            (Decision::Never, _) | (_, Decision::Never) => Decision::Never,
            (Decision::NotUntil(a), Decision::NotUntil(b)) => Decision::NotUntil(a.max(b)),
            (Decision::NotUntil(at), Decision::Granted) | (Decision::Granted, Decision::NotUntil(at)) => {
                Decision::NotUntil(at)
            }
            (Decision::Granted, Decision::Granted) => Decision::Granted,
        }
    }

    /// Takes `bytes` for `tenant` from both, if they fit both; else changes nothing.
    pub fn take(&mut self, now: Nanos, tenant: &T, bytes: u64) -> Decision {
        let decision = self.check(now, tenant, bytes);
        if decision == Decision::Granted {
            self.charge(now, tenant, bytes);
        }
        decision
    }

    /// Takes `bytes` whether they fit or not: what has flowed, has flowed.
    pub fn charge(&mut self, now: Nanos, tenant: &T, bytes: u64) {
        self.total.charge(now, bytes);
        if let Some(bucket) = self.tenants.get_mut(tenant) {
            bucket.charge(now, bytes);
        } else {
            // Whoever comes anew pays for the sweep, so that tenants that are gone don't pile up.
            self.forget(now);
            let mut bucket = TokenBucket::full(self.tenant.0, self.tenant.1, now);
            bucket.charge(now, bytes);
            self.tenants.insert(tenant.clone(), bucket);
        }
    }

    /// Gives back up to `back` of what was taken at `admitted_at`; see [`TokenBucket::refund`].
    pub fn refund(&mut self, now: Nanos, admitted_at: Nanos, tenant: &T, bytes: u64, back: u64) {
        self.total.refund(now, admitted_at, bytes, back);
        if let Some(bucket) = self.tenants.get_mut(tenant) {
            bucket.refund(now, admitted_at, bytes, back);
        }
    }

    /// Changes the rates. **Consumption is kept**, in total and of each tenant.
    pub fn reconfigure(&mut self, now: Nanos, spec: ByteSpec) -> Result<(), RateError> {
        self.tenant = spec.tenants()?;
        self.total.reconfigure(now, spec.total, spec.burst);
        for bucket in self.tenants.values_mut() {
            bucket.reconfigure(now, self.tenant.0, self.tenant.1);
        }
        Ok(())
    }

    /// Drops tenants whose bucket has been full for a second: a new one would say the same.
    pub fn forget(&mut self, now: Nanos) {
        self.tenants.retain(|_, bucket| bucket.full_from() + IDLE > now);
    }

    /// Bytes that a tenant could take now.
    pub fn available(&self, now: Nanos, tenant: &T) -> u64 {
        let own = self.tenants.get(tenant).map_or(self.tenant.1.get(), |bucket| bucket.available(now));
        own.min(self.total.available(now))
    }

    /// Tenants that are remembered.
    pub fn tenants(&self) -> usize {
        self.tenants.len()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const fn ms(at: u64) -> Nanos {
        Nanos::from_u64(at * 1_000_000)
    }

    fn spec(rate: u64, burst: u64, tenant: f64) -> ByteSpec {
        let tenant = Ratio::new(tenant).unwrap();
        ByteSpec { tenant, ..ByteSpec::new(Rate::per_second(rate).unwrap(), Burst::new(burst).unwrap()) }
    }

    #[test]
    fn one_tenant_alone_leaves_room_for_a_second() {
        let mut bytes = ByteRates::new(spec(1_000, 100, 0.6), ms(0)).unwrap();
        let mut acme = 0;
        for at in 0..10_000 {
            while bytes.take(ms(at), &"acme", 10) == Decision::Granted {
                acme += 10;
            }
        }
        assert_eq!(acme, 60 + 5_990, "60% of a thousand a second, and of the burst");
        assert_eq!(bytes.available(ms(10_000), &"globex"), 60);
    }

    #[test]
    fn both_or_neither() {
        let mut bytes = ByteRates::new(spec(1_000, 100, 0.5), ms(0)).unwrap();
        let took = |bytes: &mut ByteRates<&'static str>, who| bytes.take(ms(0), &who, 50);
        assert_eq!([took(&mut bytes, "a"), took(&mut bytes, "b")], [Decision::Granted; 2]);
        assert_eq!(took(&mut bytes, "c"), Decision::NotUntil(ms(50)), "its own share is there, the total is not");
        assert_eq!(bytes.tenants(), 2, "who took nothing is not remembered");
        assert_eq!(bytes.take(ms(0), &"c", 51), Decision::Never);
        // 30 ms later the total has 30 and `a` has 15.
        assert_eq!(bytes.take(ms(30), &"a", 20), Decision::NotUntil(ms(40)));
        assert_eq!(bytes.available(ms(30), &"c"), 30);
    }

    #[test]
    fn a_tenant_that_is_full_again_is_forgotten() {
        let mut bytes = ByteRates::new(spec(1_000, 1_000, 0.5), ms(0)).unwrap();
        for tenant in 0..10_000_u64 {
            bytes.charge(ms(tenant * 10), &tenant, 10);
        }
        assert!(bytes.tenants() <= 110, "{} are remembered", bytes.tenants());
    }

    #[test]
    fn what_did_not_flow_comes_back_to_both() {
        let mut bytes = ByteRates::new(spec(1_000, 100, 0.5), ms(0)).unwrap();
        assert_eq!(bytes.take(ms(0), &"a", 50), Decision::Granted);
        bytes.refund(ms(0), ms(0), &"a", 50, 30);
        assert_eq!((bytes.available(ms(0), &"a"), bytes.available(ms(0), &"b")), (30, 50));
    }

    #[test]
    fn a_changed_rate_keeps_what_flowed() {
        let mut bytes = ByteRates::new(spec(1_000, 100, 0.5), ms(0)).unwrap();
        assert_eq!(bytes.take(ms(0), &"a", 50), Decision::Granted);
        bytes.reconfigure(ms(0), spec(10, 1_000, 0.5)).unwrap();
        assert_eq!((bytes.available(ms(0), &"a"), bytes.available(ms(0), &"b")), (450, 500));
    }

    #[test]
    fn a_share_of_nothing_is_named() {
        let dripping = ByteSpec { tenant: Ratio::new(0.5).unwrap(), ..spec(1, 1, 1.0) };
        assert!(ByteRates::<u8>::new(dripping, ms(0)).is_ok());
        assert_eq!(dripping.tenants().unwrap().1, Burst::ONE, "a byte at once, whatever the share");
    }

    proptest! {
        #[test]
        fn no_interval_passes_the_total_nor_a_tenants_share(
            rate in 10u64..1_000, burst in 10u64..200, share in 0.3..0.9_f64,
            takes in prop::collection::vec((0u64..100, 0usize..3, 1u64..60), 1..150),
        ) {
            let spec = spec(rate, burst, share);
            let (own_rate, own_burst) = spec.tenants().unwrap();
            let mut bytes = ByteRates::new(spec, ms(0)).unwrap();
            let mut now = 0;
            let mut log: Vec<(u64, usize, u64)> = Vec::new();
            for (step, tenant, cost) in takes {
                now += step;
                if bytes.take(ms(now), &tenant, cost) == Decision::Granted {
                    log.push((now, tenant, cost));
                }
            }
            for from in 0..log.len() {
                for to in from..log.len() {
                    let t = (log[to].0 - log[from].0) as f64 / 1e3;
                    let sum = |of: Option<usize>| {
                        log[from..=to].iter().filter(|(_, t, _)| of.is_none_or(|of| of == *t)).map(|(.., c)| c).sum::<u64>() as f64
                    };
                    prop_assert!(sum(None) <= rate as f64 * t + burst as f64 + 1e-6);
                    for tenant in 0..3 {
                        prop_assert!(sum(Some(tenant)) <= own_rate.per_second_f64() * t + own_burst.get() as f64 + 1e-6);
                    }
                }
            }
        }
    }
}
