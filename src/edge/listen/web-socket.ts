/** The client's side of WebSockets: opened over HTTP/1.1 (RFC 6455) or as a stream of HTTP/2 (RFC 8441). */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { TooMuchWork } from '../../expressions/work.js';
import { type Balancing, isBalanced } from '../balance/balancing.js';
import { mayAskAnother, requestTo } from '../balance/stage.js';
import { type Failure, failureOf, reasonOf } from '../error-pages/failures.js';
import { failurePage } from '../error-pages/page.js';
import type { ChosenOrigin, EdgeRequest, HeaderList } from '../exchange/exchange.js';
import type { Stalls } from '../exchange/stalls.js';
import type { ClientStream } from '../http2/client-stream.js';
import { checkRoute, redirectFields, redirectOf, rulesFor, withSettings } from '../proxy/answer.js';
import { tunnel, type UpgradeOutcome, type Upgrader, webSocketRoute } from '../proxy/upgrade.js';
import type { RoutingTable } from '../route/table.js';
import { type EdgeRules, type RuledRequest, tooMuchWork } from '../rules/rules.js';
import type { Outcome } from './reply.js';
import type { ReadRequest } from './request.js';

export interface WebSocketOptions {
  readonly table: RoutingTable;
  readonly upgrader: Upgrader;
  readonly balancing: Balancing;
  readonly rules: EdgeRules;
  readonly loopId: string;
  /** Those that clients use. */
  readonly httpPort: number;
  readonly httpsPort: number;
  readonly stalls: Stalls;
  readonly details: boolean;
  /** A fault of this program ended an exchange. */
  readonly onFault: (error: unknown) => void;
}

/** How to answer the client that asked. */
interface Client {
  readonly upgraded: (headers: HeaderList, origin: Duplex, head: Buffer) => void;
  readonly answered: (status: number, headers: HeaderList, body: Buffer | IncomingMessage) => void;
  readonly onClose: (run: () => void) => void;
  /** Ends the connection, or its stream, so that the client notices. */
  readonly cut: () => void;
}

type OnEnd = (outcome: Outcome) => void;

export interface WebSockets {
  /** `head`: octets that followed the request. */
  overHttp1(request: ReadRequest, socket: Duplex, head: Buffer, onEnd: OnEnd): void;
  overHttp2(request: ReadRequest, stream: ClientStream, onEnd: OnEnd): void;
}

export function createWebSockets(options: WebSocketOptions): WebSockets {
  return {
    overHttp1(request, socket, head, onEnd) {
      // The octets after the request belong to the origin.
      if (head.length > 0) socket.unshift(head);
      open(options, request, [], http1Client(socket, options.stalls, onEnd), onEnd);
    },
    overHttp2(request, stream, onEnd) {
      const key = ['sec-websocket-key', randomBytes(16).toString('base64')];
      const client = http2Client(stream, options.stalls, onEnd);
      if (stream.request.protocol === 'websocket') open(options, request, key, client, onEnd);
      else client.answered(501, ['content-length', '0'], Buffer.alloc(0));
    },
  };
}

function open(options: WebSocketOptions, request: ReadRequest, extra: HeaderList, client: Client, onEnd: OnEnd): void {
  const { table, upgrader, balancing, rules, loopId, details, onFault } = options;
  const fail = (failure: Failure, accept?: string): void => {
    const ray = 'ray' in request ? request.ray : '';
    const page = failurePage(failure, { accept, host: request.host, ray, details });
    client.answered(page.status, page.headers, page.body);
    onEnd({ status: page.status, octets: page.body.length, failure, complete: true });
  };
  const checked = check(request, table, loopId);
  if ('failure' in checked || 'failure' in request) {
    if ('failure' in checked) fail(checked.failure, 'failure' in request ? request.accept : undefined);
    return;
  }
  const ruled = rules.begin(request, checked.route.zone);
  const made = rulesFor(request, ruled);
  if ('failure' in made) {
    fail(made.failure);
    return;
  }
  const change = changing(ruled);
  const redirect = (to: Parameters<typeof redirectFields>[0]): void => {
    const { status } = to;
    const fields = redirectFields(to);
    client.answered(status, change(status, fields) ?? fields, Buffer.alloc(0));
    onEnd({ status, octets: 0, failure: undefined, complete: true });
  };
  if ('elsewhere' in made) {
    redirect(made.elsewhere);
    return;
  }
  const onFaultHere = (error: unknown): void => {
    onFault(error);
    client.cut();
  };
  const outcome = outcomeFor(client, change, onEnd, { onFailure: fail, onFault: onFaultHere });
  const asked = asGet(made.request);
  const route = withSettings(checked.route, made.settings);
  const location = redirectOf(options, request, route);
  if (location !== undefined) {
    redirect({ status: 301, location });
    return;
  }
  if (!isBalanced(route)) {
    client.onClose(upgrader(asked, route, extra, outcome));
    return;
  }
  const balanced = balancing.begin(asked, route, []);
  if ('failure' in balanced) fail(balanced.failure);
  else if ('fixed' in balanced)
    fail(failureOf('badRequest', 'the load balancer has a fixed response for this request'));
  else client.onClose(upgradeAt(upgrader, balanced.request, extra, outcome));
}

/** Changes the fields of a response as the rules say; undefined: they take too long for it. */
type Change = (status: number, headers: HeaderList) => HeaderList | undefined;

function changing(ruled: RuledRequest | undefined): Change {
  const changeFields = ruled?.changeFields;
  return (status, headers) => {
    try {
      return changeFields ? changeFields(status, headers) : headers;
    } catch (error) {
      if (error instanceof TooMuchWork) return undefined;
      throw error;
    }
  };
}

/** Fields that the rules would have removed do not reach the client, whatever the origin answers. */
function outcomeFor(
  client: Client,
  change: Change,
  onEnd: OnEnd,
  failing: Pick<UpgradeOutcome, 'onFailure' | 'onFault'>,
): UpgradeOutcome {
  return {
    ...failing,
    onUpgraded(headers, origin, head) {
      const changed = change(101, headers);
      if (changed) {
        client.upgraded(changed, origin, head);
        return;
      }
      origin.destroy();
      failing.onFailure(tooMuchWork());
    },
    onAnswered(status, headers, body) {
      const changed = change(status, headers);
      if (!changed) {
        body.destroy();
        failing.onFailure(tooMuchWork());
        return;
      }
      client.answered(status, changed, body);
      let octets = 0;
      body.on('data', (piece: Buffer) => (octets += piece.length));
      body.once('close', () => onEnd({ status, octets, failure: undefined, complete: body.complete }));
    },
  };
}

/** Upgrades at the chosen origin, where it counts as a pending request, or at another if connecting fails. */
function upgradeAt(upgrader: Upgrader, request: EdgeRequest, extra: HeaderList, outcome: UpgradeOutcome): () => void {
  let chosen: ChosenOrigin | undefined;
  let abort = (): void => {};
  const end = (): void => {
    chosen?.end();
    chosen = undefined;
  };
  const ask = (one: ChosenOrigin): void => {
    chosen = one;
    one.begin();
    const onFailure: UpgradeOutcome['onFailure'] = (failure) => {
      end();
      const next = mayAskAnother(failure) ? one.retry() : undefined;
      if (next) ask(next);
      else outcome.onFailure(failure);
    };
    const own = upgrader(requestTo(one, request), one.route, extra, { ...outcome, onFailure });
    if (chosen === one) abort = own;
  };
  ask(request.chosen!);
  return () => {
    end();
    abort();
  };
}

/** The origin, or the reason why there is none. */
function check(request: ReadRequest, table: RoutingTable, loopId: string): ReturnType<typeof webSocketRoute> {
  if ('failure' in request) return { failure: request.failure };
  if (request.method !== 'GET') return { failure: failureOf('badRequest', 'a WebSocket is opened with GET') };
  const checked = checkRoute({ loopId }, request, table.find(request.host));
  return 'failure' in checked ? checked : webSocketRoute(checked.route);
}

function asGet(request: EdgeRequest): EdgeRequest {
  return { ...request, method: 'GET', body: undefined, bodyLength: undefined };
}

function http1Client(socket: Duplex, stalls: Stalls, onEnd: OnEnd): Client {
  const head = (status: number, headers: HeaderList): string => {
    const lines = [`HTTP/1.1 ${status} ${reasonOf(status)}`];
    for (let i = 0; i < headers.length; i += 2) lines.push(`${headers[i]}: ${headers[i + 1]}`);
    return `${lines.join('\r\n')}\r\n\r\n`;
  };
  // A body without a length would end well with its connection.
  const cut = (): void => {
    if (socket instanceof Socket && !(socket instanceof TLSSocket)) socket.resetAndDestroy();
    else socket.destroy();
  };
  return {
    upgraded(headers, origin, first) {
      if (socket.destroyed) {
        origin.destroy();
        return;
      }
      socket.write(head(101, [...headers, 'connection', 'Upgrade', 'upgrade', 'websocket']), 'latin1');
      if (first.length > 0) socket.write(first);
      tunnel(socket, origin, stalls, () => onEnd({ status: 101, octets: 0, failure: undefined, complete: true }));
    },
    answered(status, headers, body) {
      // One that waits for its client's end would stay as long as the client likes.
      socket.once('finish', () => socket.destroy());
      socket.write(head(status, [...headers, 'connection', 'close']), 'latin1');
      if (Buffer.isBuffer(body)) socket.end(body);
      else passOn(body, socket, cut);
    },
    onClose: (run) => void socket.once('close', run),
    cut,
  };
}

function http2Client(stream: ClientStream, stalls: Stalls, onEnd: OnEnd): Client {
  const duplex = stream.openTunnel();
  duplex.on('error', () => {});
  const cut = (): void => stream.cut();
  return {
    upgraded(headers, origin, first) {
      if (stream.isOver) {
        origin.destroy();
        return;
      }
      stream.head(200, without(headers, 'sec-websocket-accept'), []);
      if (first.length > 0) duplex.write(first);
      tunnel(duplex, origin, stalls, () => onEnd({ status: 200, octets: 0, failure: undefined, complete: true }));
    },
    answered(status, headers, body) {
      if (stream.isOver) {
        if (!Buffer.isBuffer(body)) body.destroy();
        return;
      }
      stream.head(status, headers, []);
      if (Buffer.isBuffer(body)) duplex.end(body);
      else passOn(body, duplex, cut);
    },
    onClose: (run) => void duplex.once('close', run),
    cut,
  };
}

function without(headers: HeaderList, name: string): HeaderList {
  return headers.filter((_, i) => headers[i - (i % 2)] !== name);
}

/** Passes a body on. One that ends early ends the client's side so that the client notices. */
function passOn(body: IncomingMessage, to: Duplex, cut: () => void): void {
  body.once('close', () => {
    if (!body.complete) cut();
  });
  to.once('close', () => void body.destroy());
  body.pipe(to);
}
