//! The keys in force, in memory: a call is let in without asking the database.

use std::{
    collections::HashMap,
    sync::{
        PoisonError, RwLock,
        atomic::{AtomicI64, Ordering},
    },
};

use app::model::KeyId;
use sha2::{Digest, Sha256};

use crate::{clock::Millis, store::keys::StoredKey};

/// What workers send begins so, to be told from other secrets by those who find it.
const PREFIX: &str = "pnk_";

/// Keys in force by their hashes.
#[derive(Debug, Default)]
pub struct Keys {
    by_hash: RwLock<HashMap<[u8; 32], InForce>>,
}

#[derive(Debug)]
struct InForce {
    id: KeyId,
    /// When it was last used, in ms; 0: not since the last time that this was written down.
    used: AtomicI64,
}

/// What is kept of a key.
pub fn hash(secret: &[u8]) -> [u8; 32] {
    Sha256::digest(secret).into()
}

/// A new key: 256 random bits.
pub fn new_secret(random: [u8; 32]) -> String {
    use base64::Engine;
    format!("{PREFIX}{}", base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(random))
}

impl Keys {
    /// Those in force among what the store holds.
    pub fn load(&self, stored: &[StoredKey]) {
        let mut map = self.by_hash.write().unwrap_or_else(PoisonError::into_inner);
        for key in stored.iter().filter(|key| key.view.revoked.is_none()) {
            map.entry(key.hash).or_insert(InForce { id: key.view.id, used: AtomicI64::new(0) });
        }
    }

    /// Puts one in force.
    pub fn add(&self, id: KeyId, hash: [u8; 32]) {
        let mut map = self.by_hash.write().unwrap_or_else(PoisonError::into_inner);
        map.insert(hash, InForce { id, used: AtomicI64::new(0) });
    }

    /// Takes one out of force.
    pub fn remove(&self, id: KeyId) {
        self.by_hash.write().unwrap_or_else(PoisonError::into_inner).retain(|_, key| key.id != id);
    }

    /// Whether a key lets its bearer in. Looked up by its hash, so the time that it takes tells nothing about the key.
    pub fn lets_in(&self, secret: &[u8], now: Millis) -> bool {
        let map = self.by_hash.read().unwrap_or_else(PoisonError::into_inner);
        let key = map.get(&hash(secret));
        if let Some(key) = key {
            key.used.store(now.0, Ordering::Relaxed);
        }
        key.is_some()
    }

    /// Keys used since this was last asked, and when.
    pub fn take_used(&self) -> Vec<(KeyId, Millis)> {
        let map = self.by_hash.read().unwrap_or_else(PoisonError::into_inner);
        let used = map.values().map(|key| (key.id, Millis(key.used.swap(0, Ordering::Relaxed))));
        used.filter(|(_, at)| at.0 > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_lets_in_until_it_is_revoked_and_its_use_is_told_once() {
        let keys = Keys::default();
        let secret = new_secret([7; 32]);
        assert!(secret.starts_with(PREFIX) && secret.len() > 40);
        let id = KeyId::from_i64(1);
        keys.add(id, hash(secret.as_bytes()));
        assert!(keys.lets_in(secret.as_bytes(), Millis(5)) && !keys.lets_in(b"pnk_guess", Millis(6)));
        assert_eq!(keys.take_used(), [(id, Millis(5))]);
        assert_eq!(keys.take_used(), []);
        keys.remove(id);
        assert!(!keys.lets_in(secret.as_bytes(), Millis(7)));
    }
}
