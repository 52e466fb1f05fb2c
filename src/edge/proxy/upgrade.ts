/**
 * WebSockets. The edge asks the origin over HTTP/1.1 (RFC 6455 §4), whatever the client uses. When the origin agrees, octets
 * flow both ways, as fast as each side reads them.
 */
import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock } from '../../base/clock.js';
import type { OriginRoute } from '../../hostnames/routing/find-route.js';
import { type Failure, failureOf } from '../error-pages/failures.js';
import { bounded } from './boundary.js';
import type { EdgeRequest, HeaderList, ServedRoute } from './exchange.js';
import { endToEndHeaders, originHeaders } from './headers.js';
import { originFailure, statusFailure } from './origin-failure.js';
import type { OriginPlan, OriginPlanner } from './origin-plan.js';
import type { TrustedRoots } from './trusted-roots.js';

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
  readonly loopId: string;
  readonly trustedRoots: () => TrustedRoots;
}

export type Upgrader = (
  request: EdgeRequest,
  route: OriginRoute,
  extra: HeaderList,
  outcome: UpgradeOutcome,
) => () => void;

/** `extra`: fields that the client's HTTP version does not have, such as `Sec-WebSocket-Key`. */
export function createUpgrader({ planner, loopId, trustedRoots, clock }: UpgraderOptions): Upgrader {
  return (request, route, extra, outcome) => {
    let abort = (): void => {};
    let gone = false;
    void Promise.resolve(planner.planFor(route, request.scheme))
      .then((planned) => {
        if (gone) return;
        if ('failure' in planned) outcome.onFailure(planned.failure);
        else {
          const headers = [...originHeaders(request, loopId), ...extra];
          abort = ask(planned.plan, request, headers, { trustedRoots, clock }, outcome);
        }
      })
      .catch(outcome.onFault);
    return () => {
      gone = true;
      abort();
    };
  };
}

/** The time limit from the connection to the origin's response, milliseconds. */
const ANSWER_MS = 15_000;
/** The time limit between two parts of another answer's body, milliseconds. */
const BODY_WAIT_MS = 100_000;

function ask(
  { scheme, verified, sni, endpoints }: OriginPlan,
  { target, method }: EdgeRequest,
  headers: readonly string[],
  { trustedRoots, clock }: Pick<UpgraderOptions, 'trustedRoots' | 'clock'>,
  outcome: UpgradeOutcome,
): () => void {
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
  /** Whatever comes first is what becomes of the request; what follows is no second answer. */
  const settle = (): boolean => {
    if (isSettled) return false;
    isSettled = true;
    cancel();
    return true;
  };
  const cancel = clock.after(ANSWER_MS, () => {
    asked.destroy(Object.assign(new Error('no answer'), { code: 'UND_ERR_CONNECT_TIMEOUT' }));
  });
  asked.on('close', cancel);
  asked.on('error', (error: Error) => {
    if (settle()) onFailure(originFailure(error));
  });
  asked.once('upgrade', (message: IncomingMessage, socket: Socket, head: Buffer) => {
    socket.on('error', () => socket.destroy());
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
  return () => asked.destroy();
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

/** Joins both sides until one of them ends. */
export function tunnel(client: Duplex, origin: Duplex, onEnd: () => void): void {
  let over = false;
  const end = (): void => {
    if (over) return;
    over = true;
    client.destroy();
    origin.destroy();
    onEnd();
  };
  for (const side of [client, origin]) {
    side.on('error', end);
    side.on('close', end);
  }
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
