/**
 * Streams of events (Server-Sent Events, HTML §9.2). Threads read the events and check for each whether the credential may see it at
 * that moment. A stream ends when the permissions of its credential change; the client then opens another and continues there.
 * Clients that do not read are cut off, and the number of streams is limited.
 */
import { PassThrough } from 'node:stream';
import { type Clock, steadyMs } from '../../base/clock.js';
import { messageOf } from '../../base/errors.js';
import type { MetricSample } from '../../base/metrics.js';
import { actorNow } from '../../control/access/authentication.js';
import {
  type EventFilter,
  type EventQuery,
  type EventSlice,
  readEvents,
  type SeenEvent,
} from '../../control/access/visible-events.js';
import { parseId } from '../../control/guard/access.js';
import { type Actor, ownTurn } from '../../control/guard/actor.js';
import { isAlike } from '../../control/guard/decision.js';
import type { ContextBase } from '../../control/kernel/context.js';
import { lacksSecondFactor } from '../../sign-in/enforcement.js';
import { networkOf } from '../../sign-in/limits.js';
import { findSessionById } from '../../store/access/sessions.js';
import type { Store } from '../../store/driver.js';
import { newestEvent, oldestEvent } from '../../store/log/events-query.js';
import { failure } from '../errors.js';
import type { Readers } from '../reading/readers.js';

export interface StreamRequest {
  readonly actor: Actor;
  /** Hash of the credential's secret: when the secret is replaced, the stream ends. */
  readonly keyHash?: Uint8Array | undefined;
  /** Identifier of the browser session. */
  readonly session?: string | undefined;
  readonly address: string;
  readonly filter: EventFilter;
  /** Number of the last event that the client knows; undefined: only what happens from now on. */
  readonly after: number | undefined;
}

export interface EventStreams {
  /** Throws 429 when too many streams are open. */
  open(request: StreamRequest): PassThrough;
  /** Events behind a position, as a list. */
  list(actor: Actor, query: EventQuery): Promise<EventSlice>;
  /** To be called after a commit. */
  readonly wake: () => void;
  samples(): MetricSample[];
  close(): void;
}

/** Limits on open streams: per credential, per account, per network, and in total. */
const MOST = { credential: 20, account: 100, network: 100, all: 1_000 };
const RETRY_SECONDS = 30;
/** Pause between two reads for one stream. */
const REST_MS = 20;
const HEARTBEAT_MS = 15_000;
/** A client that reads nothing for this long is cut off. */
const STALLED_MS = 30_000;
/** Limit on the octets that a stream buffers. */
const MOST_WAITING = 64 * 1024;
/** How often to look for commits that nobody reported. */
const LOOK_MS = 1_000;

interface Stream {
  readonly request: StreamRequest;
  readonly out: PassThrough;
  readonly classes: readonly string[];
  position: number;
  isReading: boolean;
  /** Events were committed during a read. */
  isBehind: boolean;
  cancelRest: (() => void) | undefined;
}

export function createEventStreams(base: ContextBase, readers: Pick<Readers, 'events'> | undefined): EventStreams {
  return new Streams(base, readers);
}

class Streams implements EventStreams {
  private readonly streams = new Set<Stream>();
  private readonly counts = new Map<string, number>();
  private cancel: (() => void)[] = [];
  private sent = 0;
  private cut = 0;
  private seen = 0;

  constructor(
    private readonly base: ContextBase,
    private readonly readers: Pick<Readers, 'events'> | undefined,
  ) {}

  open(request: StreamRequest): PassThrough {
    const classes = classesOf(request);
    for (const [most, name] of classes) {
      if (this.countOf(name) >= most && !(name === ALL && this.makeRoom(classes))) {
        throw failure('tooManyStreams', {}, { retryAfterSeconds: RETRY_SECONDS });
      }
    }
    const { store } = this.base;
    const newest = newestEvent(store);
    const out = new PassThrough({ highWaterMark: MOST_WAITING });
    const position = Math.min(request.after ?? newest, newest);
    const names = classes.map(([, name]) => name);
    const stream: Stream = {
      ...{ request, out, classes: names, position },
      ...{ isReading: false, isBehind: false, cancelRest: undefined },
    };
    for (const name of names) this.counts.set(name, this.countOf(name) + 1);
    this.streams.add(stream);
    out.once('close', () => this.forget(stream));
    // A client that disconnects is not a fault.
    out.on('error', () => {});
    out.write(`retry: 2000\nid: ${position}\n: events of Zoneplane\n\n`);
    if (request.after !== undefined && request.after + 1 < oldestEvent(store)) {
      out.write('event: lost\ndata: {"reason":"some events in between were removed from the log"}\n\n');
    }
    if (this.cancel.length === 0) this.begin();
    void this.read(stream);
    return out;
  }

  readonly wake = (): void => {
    if (this.streams.size === 0) return;
    const newest = newestEvent(this.base.store);
    if (newest === this.seen) return;
    this.seen = newest;
    for (const stream of this.streams) this.readSoon(stream);
  };

  samples(): MetricSample[] {
    const [labels, gauge] = [{}, 'gauge'] as const;
    return [
      { name: 'event_streams', type: gauge, help: 'Open streams of events', labels, value: this.streams.size },
      { name: 'event_streams_sent_total', type: 'counter', help: 'Events sent to streams', labels, value: this.sent },
      {
        ...{ name: 'event_streams_cut_total', type: 'counter', labels, value: this.cut },
        help: 'Streams of events that were cut off because their clients did not read',
      },
    ];
  }

  close(): void {
    for (const stream of this.streams) this.end(stream, 'the server is stopping');
  }

  private begin(): void {
    const { clock } = this.base;
    this.cancel = [
      clock.every(LOOK_MS, () => this.wake()),
      clock.every(HEARTBEAT_MS, () => {
        for (const stream of this.streams) this.beat(stream);
      }),
    ];
  }

  private countOf(name: string): number {
    return this.counts.get(name) ?? 0;
  }

  /** Ends a stream of the account with the most streams, if the account that asks would still have fewer. */
  private makeRoom(classes: readonly StreamClass[]): boolean {
    const accountOf = (names: readonly string[]): string => names[ACCOUNT_LEVEL]!;
    let found: Stream | undefined;
    for (const stream of this.streams) {
      if (!found || this.countOf(accountOf(stream.classes)) > this.countOf(accountOf(found.classes))) found = stream;
    }
    const own = accountOf(classes.map(([, name]) => name));
    if (!found || this.countOf(accountOf(found.classes)) <= this.countOf(own) + 1) return false;
    this.end(found, 'the server needs the place for another account');
    this.forget(found);
    return true;
  }

  private forget(stream: Stream): void {
    if (!this.streams.delete(stream)) return;
    stream.cancelRest?.();
    for (const name of stream.classes) {
      const count = this.counts.get(name)! - 1;
      if (count === 0) this.counts.delete(name);
      else this.counts.set(name, count);
    }
    if (this.streams.size > 0) return;
    for (const cancel of this.cancel) cancel();
    this.cancel = [];
  }

  /** Sends the position, so that the client can resume there, and keeps the connection alive. */
  private beat(stream: Stream): void {
    if (stream.isReading || stream.out.writableNeedDrain || stream.out.writableEnded) return;
    if (!this.actorOf(stream)) this.end(stream, GONE);
    else stream.out.write(`id: ${stream.position}\n: \n\n`);
  }

  /** The present actor; undefined: the credential ended, or its permissions changed since the stream began. */
  private actorOf({ request }: Stream): Actor | undefined {
    if (lacksFactor(this.base.store, request.session)) return undefined;
    const actor = actorNow(this.base, request.actor, request.address, request.session, request.keyHash);
    return actor && isAlike(actor, request.actor) ? actor : undefined;
  }

  private readSoon(stream: Stream): void {
    stream.isBehind = true;
    if (stream.isReading) return;
    stream.cancelRest ??= this.base.clock.after(REST_MS, () => {
      stream.cancelRest = undefined;
      void this.read(stream);
    });
  }

  /** Ends a stream and tells the client why, if it still reads. */
  private end({ out }: Stream, reason: string): void {
    if (out.writableEnded) return;
    out.end(`event: end\ndata: ${JSON.stringify({ reason })}\n\n`);
    this.base.clock.after(STALLED_MS, () => out.destroy());
  }

  private async read(stream: Stream): Promise<void> {
    if (stream.isReading) return;
    stream.isReading = true;
    try {
      for (let more = true; more && !stream.out.destroyed && !stream.out.writableEnded; ) {
        stream.isBehind = false;
        const actor = this.actorOf(stream);
        if (!actor) {
          this.end(stream, GONE);
          return;
        }
        const slice = await this.list(actor, { ...stream.request.filter, after: stream.position });
        stream.position = Math.max(stream.position, slice.position);
        if (!(await this.write(stream, slice.events))) return;
        // Events may have been committed while the client was slow.
        more = slice.more || stream.isBehind;
        if (more) await rest(this.base.clock);
      }
    } catch (error) {
      this.base.log.debug({ reason: messageOf(error) }, 'a stream of events is read again later');
      stream.cancelRest ??= this.base.clock.after(LOOK_MS, () => {
        stream.cancelRest = undefined;
        void this.read(stream);
      });
    } finally {
      stream.isReading = false;
    }
  }

  async list(actor: Actor, query: EventQuery): Promise<EventSlice> {
    return this.readers ? this.readers.events(actor, query) : readEvents({ store: this.base.store, actor }, query);
  }

  /** Resolves when the client has read enough for more to be sent; false: the stream is closed. */
  private async write({ out }: Stream, events: readonly SeenEvent[]): Promise<boolean> {
    if (out.destroyed || out.writableEnded) return false;
    if (events.length === 0) return true;
    this.sent += events.length;
    if (out.write(events.map((event) => `id: ${event.id}\ndata: ${JSON.stringify(event)}\n\n`).join(''))) return true;
    return new Promise((resolve) => {
      const done = (isReading: boolean): void => {
        cancel();
        out.off('drain', drained).off('close', closed);
        resolve(isReading);
      };
      const drained = (): void => done(true);
      const closed = (): void => done(false);
      const cancel = this.base.clock.after(STALLED_MS, () => {
        this.cut++;
        done(false);
        out.destroy();
      });
      out.once('drain', drained).once('close', closed);
    });
  }
}

const GONE = 'the credential has ended, or its permissions have changed';

/** Whether an account now requires a second factor that the session did not give. */
function lacksFactor(store: Store, sessionId: string | undefined): boolean {
  const id = sessionId === undefined ? undefined : parseId(sessionId);
  const session = id && findSessionById(store, id);
  return session !== undefined && session.credential === null && lacksSecondFactor(store, session);
}

type StreamClass = readonly [most: number, name: string];
const ALL = 'all';
const ACCOUNT_LEVEL = 1;

/** The total comes last, so that room is made only when no other limit refuses the stream. */
function classesOf({ actor, address }: StreamRequest): readonly StreamClass[] {
  return [
    [MOST.credential, `credential ${actor.keyId ?? actor.userId}`],
    [MOST.account, `account ${ownTurn(actor)}`],
    [MOST.network, `network ${networkOf(address)}`],
    [MOST.all, ALL],
  ];
}

function rest(clock: Clock): Promise<void> {
  const until = steadyMs(clock) + REST_MS;
  return new Promise((resolve) => void clock.after(Math.max(1, until - steadyMs(clock)), resolve));
}
