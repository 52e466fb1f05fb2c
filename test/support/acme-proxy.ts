/** A TLS proxy before an ACME server. It answers chosen requests itself or changes the server's answers. */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Pebble } from './pebble.js';

export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  /** Of the JWS; both empty where there is none. */
  readonly header: { readonly nonce?: string; readonly kid?: string };
  readonly payload: Readonly<Record<string, unknown>>;
}

export interface CannedAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON. */
  readonly body?: string | object;
}

/** An answer, a function that answers by itself, or undefined to let the request through. */
export type Fault = (seen: SeenRequest) => CannedAnswer | ((response: ServerResponse) => void) | undefined;

export interface AcmeProxy {
  readonly directoryUrl: string;
  /** Every request since the last {@link AcmeProxy.inject}, in order. */
  readonly seen: readonly SeenRequest[];
  /** Answers that are neither ended nor given up. */
  open(): number;
  /** From now on; without a fault all goes through. */
  inject(fault?: Fault): void;
  /** Called with each request whose answer of the server has come; true: the answer is lost. */
  watch(isLost?: (seen: SeenRequest) => boolean | Promise<boolean>): void;
  /** Members that the directory has besides those of the server. */
  extendDirectory(members: object): void;
  stop(): Promise<void>;
}

export async function startAcmeProxy(pebble: Pebble): Promise<AcmeProxy> {
  let fault: Fault | undefined;
  let isLost: (seen: SeenRequest) => boolean | Promise<boolean> = () => false;
  let members: object = {};
  let seen: SeenRequest[] = [];
  let open = 0;
  const server = createServer({ cert: pebble.identity.certificate, key: pebble.identity.key }, (incoming, response) => {
    open++;
    response.on('close', () => open--);
    void (async () => {
      const body = await bodyOf(incoming);
      const wanted = seenOf(incoming, body);
      seen.push(wanted);
      const answer = fault?.(wanted);
      if (typeof answer === 'function') answer(response);
      else if (answer !== undefined) sendCanned(response, answer);
      else {
        const send = await forward(pebble, incoming, body, wanted.path === '/dir' ? members : undefined);
        if (await isLost(wanted)) response.destroy();
        else send(response);
      }
    })().catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    directoryUrl: `https://127.0.0.1:${port}/dir`,
    get seen() {
      return seen;
    },
    open: () => open,
    inject(next) {
      fault = next;
      seen = [];
    },
    watch(next = () => false) {
      isLost = next;
    },
    extendDirectory(next) {
      members = next;
    },
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Returns what sends on the answer of the server. `members`: what to add to the object that comes. */
async function forward(
  pebble: Pebble,
  incoming: IncomingMessage,
  body: string,
  members: object | undefined,
): Promise<(response: ServerResponse) => void> {
  const call = request({
    host: '127.0.0.1',
    port: pebble.port,
    ca: pebble.identity.certificate,
    agent: false,
    method: incoming.method,
    path: incoming.url,
    // Pebble makes its URLs of the Host field, so they lead here.
    headers: incoming.headers,
  });
  call.end(body);
  const [answer] = (await once(call, 'response')) as [IncomingMessage];
  const text = await bodyOf(answer);
  const { 'content-length': _, ...headers } = answer.headers;
  return (response) => {
    response.writeHead(answer.statusCode!, headers);
    response.end(members === undefined ? text : JSON.stringify({ ...(JSON.parse(text) as object), ...members }));
  };
}

function sendCanned(response: ServerResponse, { status = 200, headers = {}, body = '' }: CannedAnswer): void {
  const type = typeof body === 'string' ? 'text/html' : status < 400 ? 'application/json' : 'application/problem+json';
  response.writeHead(status, { 'content-type': type, 'replay-nonce': 'made-by-the-proxy', ...headers });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}

function seenOf({ method = '', url = '', headers }: IncomingMessage, body: string): SeenRequest {
  const jws = body === '' ? {} : (JSON.parse(body) as { protected?: string; payload?: string });
  return { method, path: url, headers, header: decoded(jws.protected), payload: decoded(jws.payload) };
}

function decoded(part = ''): Record<string, string> {
  return part === '' ? {} : (JSON.parse(Buffer.from(part, 'base64url').toString()) as Record<string, string>);
}

async function bodyOf(message: IncomingMessage): Promise<string> {
  let text = '';
  for await (const piece of message.setEncoding('utf8')) text += piece as string;
  return text;
}
