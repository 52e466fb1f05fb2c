/**
 * Connections whose requests are plain, so that they are read and answered without Node's HTTP server, which takes as long for
 * a request as a whole answer from the cache. The first octet that is not certainly part of a plain request, or a head that is
 * not complete, hands the connection over to that server for good, with everything that was not answered.
 */
import type { Socket } from 'node:net';
import { type Clock, steadyMs } from '../base/clock.js';
import { type FurtherRequests, REQUESTS_A_TURN } from '../base/connections/in-turns.js';
import { remembered } from '../base/remembered.js';
import { keepOpen } from './half-closed.js';
import { FieldsOfClient, HeadReader, type PlainHead, type PlainUpload } from './request-head.js';
import { kept, shareReads } from './shared-reads.js';
import { isQueued } from './write-at-once.js';

/** The connection, as a response sees it. */
export interface Channel {
  readonly socket: Socket;
  /** The value of `Keep-Alive`, such as `timeout=65`. */
  readonly keepAlive: string;
  readonly nowMs: () => number;
  /** Whether something has come behind the request that is answered. */
  readonly hasMore: boolean;
  /** Called when the response has been written. `isLast`: the connection ends. */
  readonly onWritten: (isLast: boolean) => void;
  /** To be called when nothing has come for a while: what is kept for further requests takes memory. */
  onRest?: (() => void) | undefined;
}

/** A response that is being sent, perhaps at the end of the turn. */
export interface Sending {
  /** It is not known yet what is answered. */
  readonly isPending?: boolean;
  /** The connection can take more. */
  drained(): void;
  /** The connection was closed. */
  closed(): void;
}

/** Answers a request. Undefined: it cannot be answered here, and nothing was sent. */
export type AnswerPlain = (head: PlainHead, channel: Channel) => Sending | undefined;

/** The same for a PUT. Its body is valid during the call. */
export type TakeUpload = (upload: PlainUpload, channel: Channel) => Sending | undefined;

export interface PlainOptions {
  readonly clock: Clock;
  /** Time without a request: on a new connection, and between requests. Milliseconds. */
  readonly firstMs: number;
  readonly idleMs: number;
  /** What clients are told of `idleMs`; milliseconds. */
  readonly keepAliveMs: number;
  /** A response takes no longer than that; as long as it likes when undefined. Milliseconds. */
  readonly longestMs?: number;
  /** How often these times are checked, milliseconds. */
  readonly checkMs: number;
  readonly further: FurtherRequests;
  /** Takes the connection over; octets that were not answered come first. */
  readonly handOver: (socket: Socket) => void;
  /** A connection that sent no request in time. */
  readonly onLate: (socket: Socket) => void;
  /** A connection that ends before its request does; by default, it is closed. */
  readonly onBrokenOff?: (socket: Socket) => void;
}

export interface PlainConnections {
  /** Without `takeUpload`, no PUT is plain. */
  accept(socket: Socket, answer: AnswerPlain, takeUpload?: TakeUpload): void;
  closeIdle(): void;
  close(): void;
}

export function createPlainConnections(options: PlainOptions): PlainConnections {
  const open = new Set<PlainConnection>();
  const fieldsOf = remembered(MOST_CLIENTS, () => new FieldsOfClient());
  const cancel = options.clock.every(options.checkMs, () => {
    const nowMs = steadyMs(options.clock);
    for (const connection of open) connection.checkTime(nowMs);
  });
  return {
    accept(socket, answer, takeUpload) {
      const answers = { answer, takeUpload };
      const heads = new HeadReader(fieldsOf(socket.remoteAddress ?? ''));
      const connection = new PlainConnection(socket, answers, heads, options, () => open.delete(connection));
      open.add(connection);
    },
    closeIdle() {
      for (const connection of open) connection.closeIfIdle();
    },
    close: cancel,
  };
}

/** Clients whose last fields are kept for their next connections: at most some kilobytes of each. */
const MOST_CLIENTS = 256;

/** Octets of further requests that may wait for the response to the one before. */
const MOST_WAITING = 65_536;

/** What is kept for further requests of a connection is dropped after this idle time, in milliseconds. */
const FORGET_MS = 5000;

const LINE_END = Buffer.from('\r\n');
const HEAD_END = Buffer.from('\r\n\r\n');
const TAB = 9;
const SPACE = 32;

/**
 * A head whose values end with spaces where they ended with tabs, which mean the same (RFC 9112 §5): Node's parser refuses
 * `chunked` with a tab behind it.
 */
function withoutFinalTabs(octets: Buffer): Buffer {
  const end = octets.indexOf(HEAD_END);
  if (end < 0 || octets.subarray(0, end).indexOf(TAB) < 0) return octets;
  const copy = Buffer.from(octets);
  for (let at = copy.indexOf(LINE_END); at >= 0 && at <= end; at = copy.indexOf(LINE_END, at + 1)) {
    for (let i = at - 1; copy[i] === TAB || copy[i] === SPACE; i--) copy[i] = SPACE;
  }
  return copy;
}

/** Whether the system has everything. */
function hasLeft(socket: Socket): boolean {
  return socket.writableLength === 0 && !isQueued(socket);
}

class PlainConnection {
  /** The response that is being sent. */
  private current: Sending | undefined;
  /** Whether the last request has its whole response. */
  private isAnswered = false;
  private waiting: Buffer | undefined;
  private idleSinceMs: number;
  private isFresh = true;
  private isReading = false;
  /** The head of a PUT is there, and its body was waited for once: some clients send both apart. */
  private lacksBody = false;
  /** Others have their turn. */
  private isYielding = false;
  /** Nothing is read from the socket. */
  private isHeld = false;
  private isOver = false;
  /** The connection ends after the response. */
  private isClosing = false;
  /** The client sends nothing more. */
  private hasEnded = false;
  private readonly channel: { -readonly [Name in keyof Channel]: Channel[Name] };

  constructor(
    private readonly socket: Socket,
    private readonly answers: { readonly answer: AnswerPlain; readonly takeUpload: TakeUpload | undefined },
    private readonly heads: HeadReader,
    private readonly options: PlainOptions,
    private readonly leave: () => void,
  ) {
    const { clock, keepAliveMs } = options;
    this.idleSinceMs = steadyMs(clock);
    this.channel = {
      socket,
      keepAlive: `timeout=${Math.floor(keepAliveMs / 1000)}`,
      nowMs: () => clock.nowMs(),
      hasMore: false,
      onWritten: (isLast: boolean) => this.next(isLast),
      onRest: undefined,
    };
    socket.on('data', this.onData);
    socket.on('drain', this.onDrain);
    socket.on('close', this.onClose);
    // Before the socket ends its own side.
    socket.prependListener('end', this.onEnd);
    shareReads(socket, this.onOctets);
  }

  checkTime(nowMs: number): void {
    const { firstMs, idleMs, longestMs, onLate } = this.options;
    const ms = nowMs - this.idleSinceMs;
    if (this.current) {
      if (this.current.isPending) this.idleSinceMs = nowMs - idleMs;
      // The request came before that, if only by a moment.
      else if (longestMs !== undefined && ms >= idleMs + longestMs) this.socket.destroy();
    } else if (this.lacksBody) this.handOver(this.waiting!);
    else if (this.isFresh) {
      if (ms < firstMs) return;
      this.detach();
      onLate(this.socket);
    } else if (ms >= idleMs) this.socket.destroy();
    else if (ms >= FORGET_MS) {
      this.heads.forget();
      this.channel.onRest?.();
    }
  }

  closeIfIdle(): void {
    if (this.current) this.isClosing = true;
    else if (this.lacksBody) this.handOver(this.waiting!);
    else if (!this.isFresh && !this.isYielding) this.socket.destroy();
  }

  private readonly onData = (chunk: Buffer): void => {
    if (this.isOver) return;
    const octets = this.waiting ? Buffer.concat([this.waiting, chunk]) : chunk;
    this.waiting = undefined;
    if (this.current || this.isYielding) this.wait(octets);
    else this.read(octets);
  };

  /** What came before, or comes for others, goes the way of all streams. */
  private readonly onOctets = (octets: Buffer): boolean => {
    if (this.isOver || this.socket.readableLength > 0) return this.socket.push(kept(octets));
    this.onData(octets);
    return true;
  };

  private readonly onDrain = (): void => {
    this.current?.drained();
  };

  private readonly onEnd = (): void => {
    this.hasEnded = true;
    if (this.current || this.isYielding) keepOpen(this.socket, this.options.clock);
    else this.end();
  };

  private readonly onClose = (): void => {
    this.detach();
    this.current?.closed();
  };

  private wait(octets: Buffer): void {
    this.waiting = kept(octets);
    if (octets.length > MOST_WAITING) this.hold();
  }

  /** Answers requests until one cannot be answered at once. */
  private read(octets: Buffer): void {
    this.isReading = true;
    let at = 0;
    let requests = 0;
    while (at < octets.length && !this.current && !this.isOver) {
      if (++requests > 1 && (requests > REQUESTS_A_TURN || this.options.further.take(1) === 0)) {
        this.isReading = false;
        this.yieldTurn(octets.subarray(at));
        return;
      }
      const request = this.heads.read(octets, at) ?? (this.answers.takeUpload && this.heads.readUpload(octets, at));
      const end = at + (request?.length ?? 0);
      this.channel.hasMore = end < octets.length;
      if (!request && this.heads.lacksBody && !this.lacksBody) {
        this.lacksBody = true;
        break;
      }
      this.lacksBody = false;
      if (!request || !this.begin(request)) {
        this.handOver(octets.subarray(at));
        return;
      }
      at = end;
    }
    this.isReading = false;
    if (this.isOver) return;
    if (at < octets.length) this.wait(octets.subarray(at));
    if (this.hasEnded && !this.current) this.end();
  }

  private yieldTurn(octets: Buffer): void {
    this.waiting = kept(octets);
    this.isYielding = true;
    this.hold();
    setImmediate(() => {
      this.isYielding = false;
      if (!this.isOver) this.goOn();
    });
  }

  private begin(request: PlainHead | PlainUpload): boolean {
    this.isAnswered = false;
    const { answer, takeUpload } = this.answers;
    const response = request.method === 'PUT' ? takeUpload?.(request, this.channel) : answer(request, this.channel);
    if (!response) return false;
    if (!this.isAnswered) this.current = response;
    return true;
  }

  /** After each response. */
  private next(isLast: boolean): void {
    this.current = undefined;
    this.isAnswered = true;
    if (isLast || this.isClosing) {
      this.end();
      return;
    }
    this.isFresh = false;
    this.idleSinceMs = steadyMs(this.options.clock);
    // A response that was complete at once: `read` continues by itself.
    if (!this.isReading) this.goOn();
  }

  private goOn(): void {
    const { waiting } = this;
    this.waiting = undefined;
    if (waiting) this.read(waiting);
    else if (this.hasEnded) this.end();
    if (!this.isHeld || this.isOver || this.current || this.isYielding) return;
    this.isHeld = false;
    this.socket.resume();
  }

  /** Nothing more is read until it goes on. */
  private hold(): void {
    this.isHeld = true;
    this.socket.pause();
  }

  /** Nothing more is answered. */
  private end(): void {
    const { socket, options } = this;
    this.detach();
    if (this.lacksBody && options.onBrokenOff) options.onBrokenOff(socket);
    // Nothing is left to be read, so that the system sends the rest all the same. TLS has an end of its own.
    else if (this.hasEnded && hasLeft(socket) && !('encrypted' in socket)) socket.destroy();
    else socket.destroySoon();
  }

  private handOver(octets: Buffer): void {
    const { socket } = this;
    // Nobody else can read it any more.
    if (this.hasEnded) {
      this.end();
      return;
    }
    this.detach();
    // Otherwise octets would be lost between two listeners.
    socket.pause();
    socket.unshift(withoutFinalTabs(kept(octets)));
    this.options.handOver(socket);
    socket.resume();
  }

  private detach(): void {
    if (this.isOver) return;
    this.isOver = true;
    const { socket } = this;
    socket.off('data', this.onData);
    socket.off('drain', this.onDrain);
    socket.off('close', this.onClose);
    socket.off('end', this.onEnd);
    this.leave();
  }
}
