import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import readline from 'node:readline';

const here = import.meta.dirname;

/** The binary under test: the one that the build tool names, else the one it leaves. */
export const binary = process.env['PENSTOCK_BIN'] ?? path.resolve(here, '../../target/release/penstock');

/** An answer of the API that was not the one wanted. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly body: string,
    what: string,
  ) {
    super(`${what}: ${status} ${body}`);
  }
}

export type Json = { [key: string]: unknown };

export interface Start {
  /** Operators' password. */
  password?: string;
  /** Further arguments, e.g. `demo`; without them, `serve`. */
  command?: string[];
}

/** The real program, on a free port, with a database of its own. */
export class Penstock {
  private process: ChildProcess | undefined;
  private folder: string | undefined;
  private log = '';
  url = '';

  private constructor(private readonly how: Start) {}

  static async start(how: Start = {}): Promise<Penstock> {
    if (!existsSync(binary)) {
      throw new Error(`${binary} is missing. \`cargo xtask build\` makes it; PENSTOCK_BIN names another.`);
    }
    const penstock = new Penstock(how);
    penstock.folder = await mkdtemp(path.join(tmpdir(), 'penstock-e2e-'));
    await penstock.run('127.0.0.1:0');
    return penstock;
  }

  /** Ends the program as an operator would, and starts it again at the same address with the same database. */
  async restart(between: () => Promise<void> = async () => {}): Promise<void> {
    const address = new URL(this.url).host;
    await this.end();
    await between();
    await this.run(address);
  }

  /** Ends it and removes what it left. */
  async stop(): Promise<void> {
    await this.end();
    if (this.folder) await rm(this.folder, { recursive: true, force: true });
  }

  private async run(listen: string): Promise<void> {
    // Nothing of the caller's configuration may reach it, and it refuses variables that it doesn't know.
    const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('PENSTOCK_'));
    const env: NodeJS.ProcessEnv = {
      ...Object.fromEntries(inherited),
      PENSTOCK_LISTEN: listen,
      PENSTOCK_DATABASE: path.join(this.folder ?? '', 'penstock.db'),
      PENSTOCK_LOG: 'warn',
      ...(this.how.password ? { PENSTOCK_PASSWORD: this.how.password } : {}),
    };
    const child = spawn(binary, this.how.command ?? ['serve'], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    this.process = child;
    child.stderr.on('data', (chunk: Buffer) => (this.log += chunk.toString()));
    const lines = readline.createInterface({ input: child.stdout });
    this.url = await new Promise<string>((ready, failed) => {
      lines.on('line', (line) => {
        this.log += `${line}\n`;
        const told = /^Penstock is ready: (http:\/\/\S+)$/.exec(line);
        if (told?.[1]) ready(told[1]);
      });
      child.once('error', failed);
      child.once('exit', (code) => failed(new Error(`penstock ended with ${code} before it was ready:\n${this.log}`)));
    });
  }

  private async end(): Promise<void> {
    const child = this.process;
    this.process = undefined;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    child.kill('SIGTERM');
    // A program that doesn't end when told must not hold the tests for ever.
    const patience = setTimeout(() => child.kill('SIGKILL'), 25_000);
    await gone;
    clearTimeout(patience);
  }

  /** Asks the API. `to` begins after `/api/v1`. */
  async api<T = Json>(method: string, to: string, body?: unknown): Promise<T> {
    const answer = await fetch(`${this.url}/api/v1${to}`, {
      method,
      ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Refused(answer.status, text, `${method} ${to}`);
    return (text === '' ? {} : JSON.parse(text)) as T;
  }

  /** Submits many records at once; answers their ids. */
  async submit(records: Json[]): Promise<string[]> {
    const answer = await fetch(`${this.url}/api/v1/records`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-ndjson' },
      body: records.map((record) => JSON.stringify(record)).join('\n'),
    });
    const told = (await answer.json()) as { rejected: number; lines: { id: string }[] };
    if (told.rejected !== 0) throw new Refused(answer.status, JSON.stringify(told).slice(0, 2_000), 'POST /records');
    return told.lines.map((line) => line.id);
  }

  /** A worker's call through the gateway. */
  async call(upstream: string, to: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
    return fetch(`${this.url}/gw/${upstream}${to}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
  }
}
