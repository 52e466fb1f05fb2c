/** Repeats a small stored response to a plain request: its head is printed once for all who get the same answer. */
import type { Socket } from 'node:net';
import type { Channel, Sending } from '../../plain/connections.js';
import { printFieldLines } from '../../plain/field-lines.js';
import { type LateWrite, writeAtEndOfTurn } from '../../plain/late-writes.js';
import type { Part } from '../../plain/parts.js';
import { hasTaken, writeJoined } from '../../plain/write-joined.js';
import type { Answer } from '../cache/answer.js';
import { reasonOf } from '../error-pages/failures.js';
import { firstValue, type HeaderList } from '../exchange/exchange.js';
import type { Stalls } from '../exchange/stalls.js';
import type { ClientSide } from '../listen/client-side.js';

/** An answer that is given several times, as a whole. */
export interface Repeated {
  readonly status: number;
  readonly start: Part;
  /** After the ray. */
  readonly end: Part;
  readonly body: Uint8Array | undefined;
}

type Repeatable = Pick<Answer, 'status'> & { readonly headers: HeaderList; readonly body: Uint8Array | undefined };

/** Whether an answer is given several times, as a whole. */
export function isRepeatable(answer: Answer): answer is Answer & Repeatable {
  const { headers, body, encodable } = answer;
  if (!headers || encodable || !(body === undefined || body instanceof Uint8Array)) return false;
  // Without a length or a date, the head needs more fields.
  return firstValue(headers, 'content-length') !== undefined && firstValue(headers, 'date') !== undefined;
}

const known = new WeakMap<Answer, Repeated>();

/** Undefined for an answer of another kind. */
export function repeatedOf(answer: Answer, { keepAlive }: Channel): Repeated | undefined {
  let repeated = known.get(answer);
  if (!repeated) {
    if (!isRepeatable(answer)) return undefined;
    const { status, headers, body } = answer;
    const start = `HTTP/1.1 ${status} ${reasonOf(status)}\r\n${printFieldLines(headers)}cf-ray: `;
    const end = `\r\nConnection: keep-alive\r\nKeep-Alive: ${keepAlive}\r\n\r\n`;
    repeated = { status, start: Buffer.from(start, 'latin1'), end: Buffer.from(end, 'latin1'), body };
    known.set(answer, repeated);
  }
  return repeated;
}

interface Receiver {
  readonly channel: Channel;
  readonly client: ClientSide;
  readonly stalls: Stalls;
}

/** Sends it over a connection that stays open. */
export function repeat(repeated: Repeated, ray: string, { channel, client, stalls }: Receiver): Sending {
  const repetition = new Repetition(repeated, ray, channel, client, stalls);
  // Further requests are answered in the same turn.
  if (channel.hasMore) repetition.writeLate();
  else writeAtEndOfTurn(repetition);
  return repetition;
}

class Repetition implements Sending, LateWrite {
  private isWritten = false;
  private isOver = false;

  constructor(
    private readonly repeated: Repeated,
    private readonly ray: string,
    private readonly channel: Channel,
    private readonly client: ClientSide,
    private readonly stalls: Stalls,
  ) {}

  get taker(): Socket {
    return this.channel.socket;
  }

  writeLate(): void {
    const { socket } = this.channel;
    if (socket.destroyed || this.isWritten) return;
    this.isWritten = true;
    const { start, end, body } = this.repeated;
    writeJoined(socket, [start, this.ray, end], body);
    if (hasTaken(socket)) this.end(true);
    else this.stalls.watch(this);
  }

  drained(): void {
    // What came before has left only now.
    if (!this.isWritten) return;
    this.stalls.forget(this);
    this.end(true);
  }

  closed(): void {
    this.stalls.forget(this);
    this.end(false);
  }

  cut(): void {
    this.channel.socket.destroy();
  }

  onFault(error: unknown): void {
    this.client.onFault(error);
    this.cut();
  }

  private end(isSent: boolean): void {
    if (this.isOver) return;
    this.isOver = true;
    const { status, body } = this.repeated;
    this.client.report({ status, octets: body?.length ?? 0, failure: undefined, complete: isSent });
    if (isSent) this.channel.onWritten(false);
  }
}
