/** Sends the response to a plain request, in the form that Node's server gives it (RFC 9112). */
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Channel, Sending } from '../../plain/connections.js';
import { currentDate } from '../../plain/current-date.js';
import { printFieldLines } from '../../plain/field-lines.js';
import { writeJoined } from '../../plain/write-joined.js';
import { reasonOf } from '../error-pages/failures.js';
import { type ClientEvents, type ClientResponse, endsConnection } from '../exchange/client-response.js';
import { firstValue, type HeaderList, WITHOUT_BODY } from '../exchange/exchange.js';

const LAST_CHUNK = '0\r\n';

export class PlainResponse implements ClientResponse, Sending {
  readonly endsAtLength = true;
  isGone = false;
  private events: ClientEvents | undefined;
  /** The head, until the first piece of the body is sent with it. */
  private waiting: readonly string[] | undefined;
  private hasBody: boolean;
  private isChunked = false;
  private isWritten = false;
  private isOver = false;

  constructor(
    private readonly channel: Channel,
    method: 'GET' | 'HEAD',
    private isLast: boolean,
  ) {
    this.hasBody = method === 'GET';
  }

  get taker(): Socket {
    return this.channel.socket;
  }

  watch(events: ClientEvents): void {
    this.events = events;
  }

  inform(status: number, headers: HeaderList): void {
    if (status !== 102 && status !== 103) return;
    const fields = status === 103 ? printFieldLines(headers) : '';
    this.channel.socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${fields}\r\n`, 'latin1');
  }

  head(status: number, headers: HeaderList, more: HeaderList): void {
    if (WITHOUT_BODY.has(status)) this.hasBody = false;
    const fields = printed(headers);
    let text = printFieldLines(more);
    if (!fields.hasDate) text += `Date: ${currentDate(this.channel.nowMs())}\r\n`;
    text += this.isLast
      ? 'Connection: close\r\n'
      : `Connection: keep-alive\r\nKeep-Alive: ${this.channel.keepAlive}\r\n`;
    if (this.hasBody && !fields.hasLength) {
      this.isChunked = true;
      text += 'Transfer-Encoding: chunked\r\n';
    }
    this.waiting = [`HTTP/1.1 ${status} ${reasonOf(status)}\r\n`, fields.lines, `${text}\r\n`];
  }

  write(chunk: Buffer): boolean {
    if (!this.hasBody || this.isOver) return true;
    if (!this.isChunked) return this.send(chunk);
    if (chunk.length === 0) return true;
    const { socket } = this.channel;
    socket.cork();
    this.sendHead(`${chunk.length.toString(16)}\r\n`);
    socket.write(chunk);
    const canTakeMore = socket.write('\r\n', 'latin1');
    socket.uncork();
    return canTakeMore;
  }

  end(chunk: Buffer | undefined, trailers: HeaderList): void {
    if (this.isOver) return;
    if (chunk) this.write(chunk);
    if (this.isChunked) this.sendHead(`${LAST_CHUNK}${printFieldLines(trailers)}\r\n`);
    else if (this.waiting) writeJoined(this.channel.socket, this.waiting, undefined);
    this.waiting = undefined;
    this.isWritten = true;
    // The rest of a long body still waits for the client.
    if (!this.channel.socket.writableNeedDrain) this.finish(true);
  }

  whole(status: number, headers: HeaderList, body: Buffer): void {
    this.isLast ||= endsConnection(status);
    this.head(status, headers, []);
    this.end(body, []);
  }

  cut(): void {
    this.channel.socket.destroy();
  }

  /** The connection can take more. */
  drained(): void {
    if (this.isWritten) this.finish(true);
    else this.events?.drained();
  }

  /** The connection was closed. */
  closed(): void {
    this.isGone = true;
    this.finish(false);
  }

  private finish(isSent: boolean): void {
    if (this.isOver) return;
    this.isOver = true;
    this.events?.closed(isSent);
    if (isSent) this.channel.onWritten(this.isLast);
  }

  private sendHead(more: string): void {
    this.channel.socket.write((this.waiting?.join('') ?? '') + more, 'latin1');
    this.waiting = undefined;
  }

  private send(chunk: Buffer): boolean {
    const { socket } = this.channel;
    const head = this.waiting;
    if (!head) return socket.write(chunk);
    this.waiting = undefined;
    return writeJoined(socket, head, chunk);
  }
}

interface Printed {
  readonly lines: string;
  readonly hasDate: boolean;
  readonly hasLength: boolean;
}

/** Lists that cannot change are printed once. */
const known = new WeakMap<HeaderList, Printed>();

function printed(headers: HeaderList): Printed {
  const isFrozen = Object.isFrozen(headers);
  const before = isFrozen ? known.get(headers) : undefined;
  if (before) return before;
  const lines = printFieldLines(headers);
  const made = { lines, hasDate: has(headers, 'date'), hasLength: has(headers, 'content-length') };
  if (isFrozen) known.set(headers, made);
  return made;
}

function has(headers: HeaderList, name: string): boolean {
  return firstValue(headers, name) !== undefined;
}
