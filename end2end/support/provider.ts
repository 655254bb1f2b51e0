import http from 'node:http';
import type { AddressInfo } from 'node:net';

/** What the provider says to a call. */
export interface Said {
  status: number;
  body: unknown;
  headers?: Record<string, string>;
}

const fault = (status: number, code: string, message: string): Said => ({
  status,
  body: { error: { message, type: code, code } },
});

/** The faults that a path asks for while the provider is broken. */
const faults: Record<string, Said> = {
  down: fault(503, 'overloaded', 'The model is overloaded'),
  content: fault(400, 'content_policy_violation', 'The image was refused by the safety system'),
  bad: fault(400, 'invalid_request', 'model "tiles-9" is not known'),
  key: fault(401, 'invalid_api_key', 'This key was revoked'),
  limit: fault(429, 'rate_limit_exceeded', 'Slow down'),
  slow: fault(504, 'deadline', 'The gateway got no answer in time'),
};

/**
 * Stands for the AI provider, over a real socket. While it is broken, the last part of a path names its answer
 * (`/v1/down`, `/v1/content`, …), and a body with `say` chooses the words; mended, it does all that it is asked.
 */
export class Provider {
  broken = true;
  calls = 0;
  private readonly server = http.createServer((request, response) => void this.answer(request, response));

  static async start(): Promise<Provider> {
    const provider = new Provider();
    await new Promise<void>((resolve) => provider.server.listen(0, '127.0.0.1', resolve));
    return provider;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise<void>((resolve) => this.server.close(() => resolve()));
  }

  private async answer(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    this.calls += 1;
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const said = this.say(request.url ?? '/', Buffer.concat(chunks).toString());
    response.writeHead(said.status, { 'content-type': 'application/json', ...said.headers });
    response.end(JSON.stringify(said.body));
  }

  private say(url: string, text: string): Said {
    const asked = new URL(url, this.url).pathname.split('/').at(-1) ?? '';
    const known = this.broken ? faults[asked] : undefined;
    if (!known) return { status: 200, body: { done: asked } };
    const words = /"say":\s*("(?:[^"\\]|\\.)*")/.exec(text)?.[1];
    if (words === undefined) return known;
    const { code } = (known.body as { error: { code: string } }).error;
    return fault(known.status, code, JSON.parse(words) as string);
  }
}
