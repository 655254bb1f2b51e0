//! The single writer: jobs wait in a queue, and all that wait are committed together. One `fsync` serves many callers.

use std::sync::Arc;

use futures_util::{FutureExt, future::BoxFuture};
use sqlx::{Connection, Executor, SqliteConnection};
use tokio::sync::{Mutex, mpsc, oneshot};

/// The connection inside the writer's transaction.
pub type Tx = SqliteConnection;

/// Jobs committed together at most: bounds how long the first of them waits.
const GROUP: usize = 256;
/// Jobs that may wait; beyond, callers wait for a place.
const QUEUE: usize = 1024;

/// A write that was not made.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// The disk, or the database's size limit, is full.
    #[error("the disk is full")]
    Full,
    /// The file can't be written (any more).
    #[error("the database can't be written: {0}")]
    ReadOnly(Arc<sqlx::Error>),
    /// Anything else that SQLite refuses.
    #[error("the database refused: {0}")]
    Database(#[from] Arc<sqlx::Error>),
    /// The program is shutting down.
    #[error("the store is closed")]
    Closed,
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        let code =
            error.as_database_error().and_then(sqlx::error::DatabaseError::code).and_then(|c| c.parse::<u32>().ok());
        match code.map(|c| c & 0xff) {
            Some(13) => Self::Full,
            // SQLITE_READONLY, SQLITE_IOERR, SQLITE_CANTOPEN
            Some(8 | 10 | 14) => Self::ReadOnly(Arc::new(error)),
            _ => Self::Database(Arc::new(error)),
        }
    }
}

trait Job: Send {
    fn run<'c>(&'c mut self, tx: &'c mut Tx) -> BoxFuture<'c, Result<(), sqlx::Error>>;
    fn answer(self: Box<Self>, committed: Result<(), StoreError>);
}

struct Work<T, F> {
    job: Option<F>,
    made: Option<Result<T, StoreError>>,
    reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<T, F> Job for Work<T, F>
where
    T: Send,
    F: for<'c> FnOnce(&'c mut Tx) -> BoxFuture<'c, Result<T, sqlx::Error>> + Send,
{
    fn run<'c>(&'c mut self, tx: &'c mut Tx) -> BoxFuture<'c, Result<(), sqlx::Error>> {
        Box::pin(async move {
            let Some(job) = self.job.take() else { return Ok(()) };
            match job(tx).await {
                Ok(made) => {
                    self.made = Some(Ok(made));
                    Ok(())
                }
                Err(error) => {
                    self.made = Some(Err(StoreError::Closed));
                    Err(error)
                }
            }
        })
    }

    fn answer(self: Box<Self>, committed: Result<(), StoreError>) {
        let answer = match committed {
            Ok(()) => self.made.unwrap_or(Err(StoreError::Closed)),
            Err(error) => Err(error),
        };
        // A caller that went away no longer wants to know.
        let _ = self.reply.send(answer);
    }
}

enum Message {
    Job(Box<dyn Job>),
    Close(oneshot::Sender<()>),
}

#[derive(Debug, Clone)]
pub(super) struct Writer {
    queue: mpsc::Sender<Message>,
    ended: Arc<Mutex<Option<tokio::task::JoinHandle<()>>>>,
}

impl Writer {
    pub(super) fn start(connection: SqliteConnection) -> Self {
        let (queue, jobs) = mpsc::channel(QUEUE);
        let task = tokio::spawn(serve(connection, jobs));
        Self { queue, ended: Arc::new(Mutex::new(Some(task))) }
    }

    pub(super) async fn run<T, F>(&self, job: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'c> FnOnce(&'c mut Tx) -> BoxFuture<'c, Result<T, sqlx::Error>> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let work = Box::new(Work { job: Some(job), made: None, reply });
        self.queue.send(Message::Job(work)).await.map_err(|_| StoreError::Closed)?;
        answer.await.map_err(|_| StoreError::Closed)?
    }

    pub(super) async fn close(&self) {
        let (reply, closed) = oneshot::channel();
        if self.queue.send(Message::Close(reply)).await.is_ok() {
            let _ = closed.await;
        }
        if let Some(task) = self.ended.lock().await.take() {
            let _ = task.await;
        }
    }
}

async fn serve(mut connection: SqliteConnection, mut jobs: mpsc::Receiver<Message>) {
    while let Some(first) = jobs.recv().await {
        let mut group = Vec::new();
        let mut closing = None;
        let mut next = Some(first);
        while let Some(message) = next {
            match message {
                Message::Job(job) => group.push(job),
                Message::Close(reply) => {
                    closing = Some(reply);
                    break;
                }
            }
            next = if group.len() < GROUP { jobs.try_recv().ok() } else { None };
        }
        commit(&mut connection, group).await;
        if let Some(reply) = closing {
            if let Err(error) = connection.close().await {
                tracing::warn!(%error, "the database was not closed cleanly; it recovers at the next start");
            }
            let _ = reply.send(());
            return;
        }
    }
}

async fn commit(connection: &mut SqliteConnection, group: Vec<Box<dyn Job>>) {
    if group.is_empty() {
        return;
    }
    if let Err(error) = connection.execute("begin immediate").await {
        return refuse(group, error.into());
    }
    let mut done = Vec::with_capacity(group.len());
    let mut jobs = group.into_iter();
    while let Some(mut job) = jobs.next() {
        match run_one(connection, job.as_mut()).await {
            Ok(()) => done.push(job),
            Err(Failed::Alone(error)) => job.answer(Err(error)),
            Err(Failed::All(error)) => {
                // SQLite rolled the whole transaction back (disk full, I/O error): nobody's work is on disk.
                let _ = connection.execute("rollback").await;
                done.push(job);
                done.extend(jobs);
                return refuse(done, error);
            }
        }
    }
    match connection.execute("commit").await {
        Ok(_) => done.into_iter().for_each(|job| job.answer(Ok(()))),
        Err(error) => {
            let _ = connection.execute("rollback").await;
            refuse(done, error.into());
        }
    }
}

enum Failed {
    Alone(StoreError),
    All(StoreError),
}

/// A savepoint around each job, so that one that fails takes nothing else along.
async fn run_one(connection: &mut SqliteConnection, job: &mut dyn Job) -> Result<(), Failed> {
    connection.execute("savepoint job").await.map_err(|e| Failed::All(e.into()))?;
    // A job that panics takes neither the writer nor anybody else's work along.
    let ran = std::panic::AssertUnwindSafe(job.run(connection)).catch_unwind().await;
    match ran.unwrap_or_else(|_| Err(sqlx::Error::WorkerCrashed)) {
        Ok(()) => {
            connection.execute("release job").await.map_err(|e| Failed::All(e.into()))?;
            Ok(())
        }
        Err(error) => {
            let error = StoreError::from(error);
            match connection.execute("rollback to job; release job").await {
                Ok(_) => Err(Failed::Alone(error)),
                Err(_) => Err(Failed::All(error)),
            }
        }
    }
}

fn refuse(group: Vec<Box<dyn Job>>, error: StoreError) {
    tracing::error!(%error, jobs = group.len(), "a write failed; its callers were told");
    for job in group {
        job.answer(Err(error.clone()));
    }
}
