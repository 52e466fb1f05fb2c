/**
 * WebSockets. The edge asks the origin over HTTP/1.1 (RFC 6455 §4), whatever the client uses. When the origin agrees, octets
 * flow both ways, as fast as each side reads them.
 */
import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock } from '../../base/clock.js';
import type { Leave } from '../../base/turns.js';
import type { TrustedRoots } from '../../certs/trusted-roots.js';
import type { OriginRoute } from '../../hostnames/routing/find-route.js';
import { type Failure, failureOf } from '../error-pages/failures.js';
import { bounded } from '../exchange/bounded.js';
import type { EdgeRequest, HeaderList, ServedRoute } from '../exchange/exchange.js';
import { originFailure, statusFailure } from '../exchange/origin-failure.js';
import type { Stalls } from '../exchange/stalls.js';
import { StreamDuplex } from '../http2/stream-duplex.js';
import { endToEndHeaders, type HeaderRules, originHeaders } from './headers.js';
import { type OriginPlaces, refusal } from './origin-places.js';
import type { OriginPlan, OriginPlanner } from './origin-plan.js';

/** The result of asking for a WebSocket. */
export interface UpgradeOutcome {
  /** The origin agreed: its connection and its response. */
  readonly onUpgraded: (headers: HeaderList, origin: Duplex, head: Buffer) => void;
  /** The origin sent another response. */
  readonly onAnswered: (status: number, headers: HeaderList, body: IncomingMessage) => void;
  readonly onFailure: (failure: Failure) => void;
  /** A fault of this program ended the attempt. */
  readonly onFault: (error: unknown) => void;
}

export interface UpgraderOptions {
  readonly clock: Clock;
  readonly planner: OriginPlanner;
  readonly places: OriginPlaces;
  readonly rules: HeaderRules;
  readonly trustedRoots: () => TrustedRoots;
}

export type Upgrader = (
  request: EdgeRequest,
  route: OriginRoute,
  extra: HeaderList,
  outcome: UpgradeOutcome,
) => () => void;

/** `extra`: fields that the client's HTTP version does not have, such as `Sec-WebSocket-Key`. */
export function createUpgrader(options: UpgraderOptions): Upgrader {
  return (request, route, extra, outcome) => {
    const attempt = new UpgradeAttempt(options, request, extra, outcome);
    attempt.begin(route).catch(outcome.onFault);
    return () => attempt.abort();
  };
}

/** Holds a place from the request on until the connection to the origin has ended. */
class UpgradeAttempt {
  private readonly waiting = new AbortController();
  private end: ((failure: Failure) => void) | undefined;

  constructor(
    private readonly options: UpgraderOptions,
    private readonly request: EdgeRequest,
    private readonly extra: HeaderList,
    private readonly outcome: UpgradeOutcome,
  ) {}

  async begin(route: OriginRoute): Promise<void> {
    const { planner, places, rules } = this.options;
    const { signal } = this.waiting;
    const planned = await planner.planFor(route, this.request.scheme);
    if (signal.aborted) return;
    if ('bucket' in planned) {
      this.outcome.onFailure(failureOf('badRequest', 'a bucket has no WebSockets'));
      return;
    }
    if ('failure' in planned) {
      this.outcome.onFailure(planned.failure);
      return;
    }
    const share = { account: route.zone.account, zone: route.zone.seq, network: this.request.network };
    const stopWaiting = places.ask(share, this, (place) => {
      if (typeof place !== 'function') this.outcome.onFailure(place);
      else if (signal.aborted) place();
      else {
        const { headers: fields, more } = originHeaders(this.request, rules);
        const headers = [...fields, ...more, ...this.extra];
        const onFault = (error: unknown): void => {
          place();
          this.outcome.onFault(error);
        };
        bounded(onFault, () => {
          this.end = ask(planned.plan, this.request, headers, this.options, this.outcome, place);
        });
      }
    });
    signal.addEventListener('abort', stopWaiting, { once: true });
  }

  /** Others need its place more. */
  giveBack(): void {
    this.waiting.abort();
    this.end?.(refusal('this client or this zone'));
  }

  abort(): void {
    this.waiting.abort();
    this.end?.(refusal('a client that has left'));
  }
}

/** The time limit from the connection to the origin's response, milliseconds. */
const ANSWER_MS = 15_000;
const KEEP_ALIVE_MS = 60_000;
/** The time limit between two parts of another answer's body, milliseconds. */
const BODY_WAIT_MS = 100_000;

function ask(
  { scheme, verified, sni, endpoints }: OriginPlan,
  { target, method }: EdgeRequest,
  headers: readonly string[],
  { trustedRoots, clock }: Pick<UpgraderOptions, 'trustedRoots' | 'clock'>,
  outcome: UpgradeOutcome,
  leave: Leave,
): (failure: Failure) => void {
  const { onUpgraded, onAnswered, onFailure } = outcome;
  const { address, port } = endpoints[0]!;
  const tls = { servername: sni, rejectUnauthorized: verified, ...(verified && { ca: trustedRoots().pem }) };
  const send = scheme === 'https' ? requestHttps : requestHttp;
  const asked = send({
    ...{ host: address, port, path: target, method, agent: false },
    headers: [...headers, 'connection', 'Upgrade', 'upgrade', 'websocket'] as never,
    ...(scheme === 'https' && tls),
  });
  let isSettled = false;
  let upgraded: Socket | undefined;
  /** Whatever comes first is what becomes of the request; what follows is not a second answer. */
  const settle = (): boolean => {
    if (isSettled) return false;
    isSettled = true;
    cancel();
    return true;
  };
  const cancel = clock.after(ANSWER_MS, () => {
    asked.destroy(Object.assign(new Error('no answer'), { code: 'UND_ERR_CONNECT_TIMEOUT' }));
  });
  asked.on('close', () => {
    cancel();
    if (!upgraded) leave();
  });
  asked.on('error', (error: Error) => {
    if (settle()) onFailure(originFailure(error));
  });
  asked.once('upgrade', (message: IncomingMessage, socket: Socket, head: Buffer) => {
    upgraded = socket;
    socket.once('close', leave);
    socket.on('error', () => socket.destroy());
    // Notices an origin that has vanished.
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    if (!settle()) socket.destroy();
    else bounded(outcome.onFault, () => onUpgraded(originFields(message), socket, head));
  });
  asked.once('response', (message) => {
    message.on('error', () => {});
    const failure = statusFailure(message.statusCode!);
    if (failure || !settle()) message.destroy();
    else {
      endWhenStill(message, clock);
      bounded(outcome.onFault, () => onAnswered(message.statusCode!, originFields(message), message));
    }
    if (failure && settle()) onFailure(failure);
  });
  asked.end();
  return (failure) => {
    if (settle()) onFailure(failure);
    asked.destroy();
    upgraded?.destroy();
  };
}

/** A body of which nothing comes any more, or that the client does not take, is not waited for. */
function endWhenStill(message: IncomingMessage, clock: Clock): void {
  const wait = (): (() => void) => clock.after(BODY_WAIT_MS, () => message.destroy());
  let cancel = wait();
  message.on('data', () => {
    cancel();
    cancel = wait();
  });
  message.once('close', () => cancel());
}

function originFields({ rawHeaders }: IncomingMessage): string[] {
  return endToEndHeaders(rawHeaders.map((text, i) => (i % 2 === 0 ? text.toLowerCase() : text)));
}

/** Joins both sides until one of them ends, or takes nothing of what the other says for too long. */
export function tunnel(client: Duplex, origin: Duplex, stalls: Stalls, onEnd: () => void): void {
  let over = false;
  const sendings = [client, origin].map((side) => ({
    taker: side instanceof StreamDuplex ? side.taker : side,
    cut: () => end(),
  }));
  const end = (): void => {
    if (over) return;
    over = true;
    for (const sending of sendings) stalls.forget(sending);
    client.destroy();
    origin.destroy();
    onEnd();
  };
  for (const side of [client, origin]) {
    side.on('error', end);
    side.on('close', end);
  }
  // What is said here may come an octet at a time.
  for (const sending of sendings) stalls.watch(sending, 1);
  client.pipe(origin);
  origin.pipe(client);
}

/** The origin for a WebSocket, unless the zone allows none or the name leads to a bucket. */
export function webSocketRoute(route: ServedRoute): { readonly route: OriginRoute } | { readonly failure: Failure } {
  if (route.kind === 'bucket') return { failure: failureOf('badRequest', 'a bucket has no WebSockets') };
  if (route.settings.websockets === 'on') return { route };
  const remedy = 'PATCH /zones/{zone_id}/settings/websockets {"value":"on"}';
  return { failure: failureOf('badRequest', 'websockets are off', remedy) };
}
