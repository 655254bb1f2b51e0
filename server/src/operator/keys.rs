//! Keys for workers on other hosts: made, listed, revoked.

use std::sync::Arc;

use app::model::{Action, FieldProblem, KeyId, KeyView, MadeKey, NewKey, Problem};

use super::Actor;
use crate::{
    rest::problem,
    state::App,
    store::{StoreError, keys::NewStoredKey},
    web::keys,
};

/// Characters of a key that are shown to tell it from others.
const HINT: usize = 4;

fn failed(error: StoreError) -> Problem {
    problem::store(&error)
}

pub(super) async fn list(app: &App) -> Result<Vec<KeyView>, Problem> {
    Ok(app.store.keys().await.map_err(failed)?.into_iter().map(|key| key.view).collect())
}

pub(super) async fn make(app: &Arc<App>, new: NewKey, actor: &Actor) -> Result<MadeKey, Problem> {
    let name = new.name.trim().to_owned();
    if name.is_empty() || name.chars().count() > 64 || name.chars().any(char::is_control) {
        let mut problem = Problem::new(422, "bad-key", "A key needs a name", "nothing was made")
            .hint("name the worker or host that will use it, in 1 to 64 characters");
        problem.fields.push(FieldProblem::new("name", "bad_name", "1 to 64 characters"));
        return Err(problem);
    }
    let now = app.clock.wall();
    let secret = keys::new_secret(rand::random());
    let (id, hash) = (KeyId::from_i64(app.store.ids().next(now)), keys::hash(secret.as_bytes()));
    let hint: String = secret.chars().skip(secret.chars().count().saturating_sub(HINT)).collect();
    let stored = NewStoredKey { id, name: name.clone(), hash, hint: hint.clone() };
    app.store.make_key(stored, actor.does(Action::KeyMade, id.to_string()), now).await.map_err(failed)?;
    app.keys.add(id, hash);
    let key = KeyView {
        id,
        name,
        hint,
        created_at: now.to_utc(),
        created_by: actor.who.clone(),
        last_used_at: None,
        revoked: None,
    };
    Ok(MadeKey { key, secret })
}

pub(super) async fn revoke(app: &Arc<App>, id: KeyId, actor: &Actor) -> Result<(), Problem> {
    let now = app.clock.wall();
    let deed = actor.does(Action::KeyRevoked, id.to_string());
    // Out of force first: should the disk refuse, it lets nobody in until the next start, and the operator is told.
    app.keys.remove(id);
    if app.store.revoke_key(id, deed, now).await.map_err(failed)? {
        return Ok(());
    }
    Err(Problem::new(404, "unknown-key", "No such key in force", format!("there is no key {id} that could be revoked"))
        .hint("GET /api/v1/keys lists them"))
}
