/** Connections to origins over HTTP/2, each shared by many requests. Origins that do not offer it are asked over HTTP/1.1. */
import { connect, type TLSSocket } from 'node:tls';
import { type Clock, steadyMs } from '../../base/clock.js';
import { DeferredControl } from '../exchange/deferred.js';
import type { OriginControl, OriginEvents, OriginRequest } from '../exchange/exchange.js';
import { ORIGIN_CONNECT_TIMEOUT, ORIGIN_RESPONSE_TIMEOUT } from '../exchange/origin-failure.js';
import type { OriginPlace, OriginTimes } from '../exchange/origin-place.js';
import { Http2Connection } from './connection.js';

export interface Http2Origins {
  /**
   * `isFresh`: over a new connection, which is not used again. `overHttp1` sends it otherwise. Throws if the request holds what no
   * request may.
   */
  send(
    place: OriginPlace,
    request: OriginRequest,
    isFresh: boolean,
    events: OriginEvents,
    overHttp1: () => OriginControl,
  ): OriginControl;
  close(): void;
}

export interface Http2OriginOptions extends OriginTimes {
  readonly clock: Clock;
}

interface Waiting {
  readonly request: OriginRequest;
  readonly events: OriginEvents;
  readonly control: DeferredControl;
  readonly overHttp1: () => OriginControl;
  readonly sinceMs: number;
}

/** The connections to one place. */
interface Group {
  readonly place: OriginPlace;
  readonly connections: Set<Http2Connection>;
  waiting: Waiting[];
  opening: number;
  /** Until then the origin counts as one without HTTP/2. */
  http1UntilMs: number;
}

/** Connections to one place: a hundred requests at once go over each. */
const MOST_CONNECTIONS = 16;
const CHECK_MS = 500;
/** How long it is remembered that an origin does not offer HTTP/2. */
const HTTP1_MS = 60_000;

export function createHttp2Origins(options: Http2OriginOptions): Http2Origins {
  return new Http2Pool(options);
}

class Http2Pool implements Http2Origins {
  private readonly groups = new Map<string, Group>();
  private readonly open = new Map<TLSSocket, Http2Connection | undefined>();
  private readonly cancel: () => void;

  constructor(private readonly options: Http2OriginOptions) {
    const { clock, connectMs, waitMs } = options;
    this.cancel = clock.every(Math.min(CHECK_MS, connectMs, waitMs), () => this.check());
  }

  send(
    place: OriginPlace,
    request: OriginRequest,
    isFresh: boolean,
    events: OriginEvents,
    overHttp1: () => OriginControl,
  ): OriginControl {
    const group = this.groupFor(place);
    const nowMs = steadyMs(this.options.clock);
    if (nowMs < group.http1UntilMs) return overHttp1();
    const control = new DeferredControl();
    const waiting: Waiting = { request, events, control, overHttp1, sinceMs: nowMs };
    if (isFresh) {
      this.connect({ ...group, connections: new Set(), waiting: [waiting], opening: 0 }, true);
      return control;
    }
    const connection = [...group.connections].find(({ hasRoom }) => hasRoom);
    if (connection) control.follow(connection.send(request, events, false));
    else {
      group.waiting.push(waiting);
      if (group.opening === 0 && group.connections.size < MOST_CONNECTIONS) this.connect(group, false);
    }
    return control;
  }

  close(): void {
    this.cancel();
    for (const socket of this.open.keys()) socket.destroy();
  }

  private groupFor(place: OriginPlace): Group {
    let group = this.groups.get(place.key);
    if (!group) {
      group = { place, connections: new Set(), waiting: [], opening: 0, http1UntilMs: 0 };
      this.groups.set(place.key, group);
    }
    return group;
  }

  private connect(group: Group, isFresh: boolean): void {
    const { address, port, tls } = group.place;
    const { clock, connectMs } = this.options;
    group.opening += 1;
    const socket = connect({
      ...tls,
      host: address,
      port,
      ALPNProtocols: ['h2', 'http/1.1'],
    });
    this.open.set(socket, undefined);
    let isSettled = false;
    const settle = (act: () => void): void => {
      if (isSettled) return;
      isSettled = true;
      cancel();
      group.opening -= 1;
      act();
    };
    const fail = (error: Error): void => settle(() => this.fail(group, error));
    const cancel = clock.after(connectMs, () => {
      fail(Object.assign(new Error('no connection in time'), { code: ORIGIN_CONNECT_TIMEOUT }));
      socket.destroy();
    });
    socket.on('error', fail);
    socket.once('close', () => {
      this.open.delete(socket);
      fail(new Error('Client network socket disconnected before secure TLS connection was established'));
    });
    socket.once('secureConnect', () => {
      settle(() => {
        if (socket.alpnProtocol === 'h2') this.use(group, socket, isFresh);
        else this.goOverHttp1(group, socket);
      });
    });
  }

  private use(group: Group, socket: TLSSocket, isFresh: boolean): void {
    const connection: Http2Connection = new Http2Connection(socket, {
      ...this.options,
      onFree: () => this.serve(group, isFresh),
      onRetired() {
        group.connections.delete(connection);
      },
    });
    this.open.set(socket, connection);
    group.connections.add(connection);
    this.serve(group, isFresh);
    // Whoever asked for a fresh one has left meanwhile.
    if (isFresh && connection.isIdle) connection.retire();
  }

  /** Lets those go on that wait. */
  private serve(group: Group, isLast: boolean): void {
    for (const connection of group.connections) {
      while (connection.hasRoom) {
        const next = group.waiting.shift();
        if (!next) return;
        if (!next.control.isAborted) {
          bounded(next, () => next.control.follow(connection.send(next.request, next.events, isLast)));
        }
      }
    }
    const { waiting, opening, connections } = group;
    if (!isLast && waiting.length > 0 && opening === 0 && connections.size < MOST_CONNECTIONS)
      this.connect(group, false);
  }

  private goOverHttp1(group: Group, socket: TLSSocket): void {
    const known = this.groups.get(group.place.key);
    if (known) known.http1UntilMs = steadyMs(this.options.clock) + HTTP1_MS;
    socket.destroy();
    for (const next of takeAll(group)) bounded(next, () => next.control.follow(next.overHttp1()));
  }

  /** Without a connection, whoever waits would wait for ever. */
  private fail(group: Group, error: Error): void {
    if (group.connections.size > 0 || group.opening > 0) return;
    for (const { events } of takeAll(group)) events.onError(error);
  }

  private check(): void {
    const { clock, waitMs, keepAliveMs } = this.options;
    const nowMs = steadyMs(clock);
    for (const connection of this.open.values()) connection?.checkTime(nowMs, keepAliveMs);
    for (const [key, group] of this.groups) {
      const late = group.waiting.filter(({ sinceMs }) => nowMs - sinceMs >= waitMs);
      group.waiting = group.waiting.filter((each) => !each.control.isAborted && !late.includes(each));
      const error = Object.assign(new Error('no room at the origin in time'), { code: ORIGIN_RESPONSE_TIMEOUT });
      for (const { control, events } of late) if (!control.isAborted) events.onError(error);
      const isUsed = group.connections.size > 0 || group.opening > 0 || group.waiting.length > 0;
      if (!isUsed && group.http1UntilMs <= nowMs) this.groups.delete(key);
    }
  }
}

function takeAll(group: Group): Waiting[] {
  const { waiting } = group;
  group.waiting = [];
  return waiting.filter(({ control }) => !control.isAborted);
}

/** A request that cannot be sent is its own failure. */
function bounded({ events }: Waiting, act: () => void): void {
  try {
    act();
  } catch (error) {
    events.onError(error as Error);
  }
}
