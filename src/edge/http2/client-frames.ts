/** What a client sends over a connection of HTTP/2, frame by frame (RFC 9113 §6): requests begin, go on, and end. */

import type { ClientStreams } from '../exchange/open-streams.js';
import { type ClientLink, ClientStream } from './client-stream.js';
import { Flood, type FrameBudget } from './frame-budget.js';
import {
  CODE,
  ConnectionError,
  contentOf,
  FIRST_WINDOW,
  FLAG,
  FRAME,
  type Frame,
  FrameReader,
  frame,
  HEAD_OCTETS,
  LARGEST_WINDOW,
  MOST_PAYLOAD,
  PREFACE,
  readNumber,
  readSettings,
  SETTING,
} from './frames.js';
import { BlockReader } from './hpack.js';
import type { InboxWindow } from './inbox-window.js';
import type { Outbox } from './outbox.js';
import { MalformedRequest, RequestReader } from './request-fields.js';

/** Requests at once over a connection. */
export const MOST_STREAMS = 100;
/** Of the fields of a request, each with 32 octets more. */
export const MOST_LIST_OCTETS = 16_384;
/** Pseudo-header fields are counted in addition to the others. */
const MOST_FIELDS = 108;
/** Of one block as it arrives, octets and frames. */
const MOST_BLOCK_OCTETS = 65_536;
const MOST_BLOCK_FRAMES = 64;
/** In one frame: each may widen the windows of all streams (CVE-2020-11080). */
const MOST_SETTINGS_AT_ONCE = 32;
/** Frames of a body with less than that are counted with their heads. */
const SMALL_DATA = 128;
const MOST_FRAME_OCTETS = 2 ** 24 - 1;

const TAKEN = frame(FRAME.settings, FLAG.ack, 0);

/** The connection. */
export interface FramesOwner extends ClientLink {
  readonly streams: Map<number, ClientStream>;
  readonly outbox: Outbox;
  readonly inbox: InboxWindow;
  readonly budget: FrameBudget;
  /** Of all connections of the client. */
  readonly ofClient: ClientStreams;
  readonly isRetired: boolean;
  readonly isEnding: boolean;
  /** The client has too many open; the next one may come right after. */
  refuse(stream: number): void;
  onRequest(stream: ClientStream): void;
  /** The client is there. */
  onPresent(): void;
  /** Finishes what it has, and takes nothing more. */
  retire(): void;
}

interface Block {
  readonly stream: number;
  readonly isLast: boolean;
  readonly parts: Buffer[];
  octets: number;
}

export class ClientFrames {
  /** The largest identifier of a request. */
  lastStream = 0;
  hasSettings = false;
  private readonly reader = new FrameReader((each) => this.onFrame(each));
  private readonly blocks = new BlockReader({ listOctets: MOST_LIST_OCTETS, fields: MOST_FIELDS });
  private readonly requests = new RequestReader();
  /** Octets of the preface that have come. */
  private greeted = 0;
  private block: Block | undefined;
  private firstWindow = FIRST_WINDOW;

  constructor(private readonly owner: FramesOwner) {}

  /** Throws a {@link ConnectionError} or an {@link HpackError}. */
  feed(octets: Buffer): void {
    this.reader.feed(this.greeted < PREFACE.length ? this.withoutPreface(octets) : octets);
  }

  /** Releases the memory of the last fields. */
  forget(): void {
    this.requests.forget();
  }

  private withoutPreface(octets: Buffer): Buffer {
    const missing = PREFACE.length - this.greeted;
    const first = octets.subarray(0, missing);
    if (!first.equals(PREFACE.subarray(this.greeted, this.greeted + first.length))) {
      throw new ConnectionError(CODE.protocol, 'not the preface');
    }
    this.greeted += first.length;
    return octets.subarray(first.length);
  }

  private onFrame(each: Frame): void {
    if (this.owner.isEnding) return;
    const { type, stream, payload } = each;
    if (!this.hasSettings && type !== FRAME.settings) throw new ConnectionError(CODE.protocol, 'no settings at first');
    if (this.block && (type !== FRAME.continuation || stream !== this.block.stream)) {
      throw new ConnectionError(CODE.protocol, 'a block of fields is interrupted');
    }
    if (type === FRAME.data) this.onData(each);
    else if (type === FRAME.headers) this.onHeaders(each);
    else if (type === FRAME.continuation) this.onContinuation(each);
    else {
      this.owner.budget.waste(HEAD_OCTETS + payload.length);
      this.onOther(each);
    }
  }

  private onOther(each: Frame): void {
    const { type } = each;
    if (type === FRAME.settings) this.onSettings(each);
    else if (type === FRAME.ping) this.onPing(each);
    else if (type === FRAME.windowUpdate) this.onWindowUpdate(each);
    else if (type === FRAME.reset) this.onReset(each);
    else if (type === FRAME.pushPromise) throw new ConnectionError(CODE.protocol, 'a push of a client');
    else if (type === FRAME.priority) checkPriority(each);
    else if (type === FRAME.goAway) this.onGoAway(each);
    // Others are ignored (RFC 9113 §4.1).
  }

  /** Streams that are over already are none of ours any more; those that never were are an error (RFC 9113 §5.1). */
  private find({ stream }: Frame): ClientStream | undefined {
    if (stream === 0 || stream % 2 === 0 || stream > this.lastStream) {
      throw new ConnectionError(CODE.protocol, `a frame for stream ${stream}`);
    }
    return this.owner.streams.get(stream);
  }

  /** A request that is malformed ends its stream. */
  private within(id: number, act: () => void): void {
    try {
      act();
    } catch (error) {
      if (!(error instanceof MalformedRequest)) throw error;
      this.refuse(id, error.http2Code);
    }
  }

  private refuse(id: number, code: number): void {
    const open = this.owner.streams.get(id);
    if (open) open.fail(code);
    else this.owner.reset(id, code);
    this.owner.budget.countFault();
  }

  private onData(each: Frame): void {
    const open = this.find(each);
    const octets = contentOf(each);
    const taken = each.payload.length;
    this.owner.budget.waste((octets.length < SMALL_DATA ? HEAD_OCTETS : 0) + taken - octets.length);
    if (!this.owner.inbox.receive(taken)) throw new ConnectionError(CODE.flowControl, 'more than the window');
    let kept = 0;
    if (open) {
      this.within(each.stream, () => {
        open.onData(octets, taken, (each.flags & FLAG.endStream) !== 0);
        kept = octets.length;
      });
    }
    this.owner.inbox.release(taken - kept);
  }

  private onHeaders(each: Frame): void {
    if (each.stream % 2 === 0) throw new ConnectionError(CODE.protocol, `a request on stream ${each.stream}`);
    const isLast = (each.flags & FLAG.endStream) !== 0;
    const content = contentOf(each);
    if (each.flags & FLAG.endHeaders) this.onBlock(each.stream, content, isLast);
    // A copy, because more may come in the next piece.
    else this.block = { stream: each.stream, isLast, parts: [Buffer.from(content)], octets: content.length };
  }

  private onContinuation({ flags, payload }: Frame): void {
    const { block } = this;
    if (!block) throw new ConnectionError(CODE.protocol, 'CONTINUATION of nothing');
    this.owner.budget.waste(HEAD_OCTETS);
    block.parts.push(Buffer.from(payload));
    block.octets += payload.length;
    if (block.octets > MOST_BLOCK_OCTETS || block.parts.length > MOST_BLOCK_FRAMES) {
      throw new ConnectionError(CODE.enhanceYourCalm, 'a block of fields without end');
    }
    if (!(flags & FLAG.endHeaders)) return;
    this.block = undefined;
    this.onBlock(block.stream, Buffer.concat(block.parts), block.isLast);
  }

  private onBlock(id: number, block: Buffer, isLast: boolean): void {
    // The table is kept up to date, also by fields that nobody wants.
    const list = this.blocks.read(block);
    const octets = HEAD_OCTETS + block.length;
    if (id > this.lastStream) this.open(id, list, isLast, octets);
    else {
      const open = this.owner.streams.get(id);
      // Trailers of a stream that is over are ignored; a request is not one (RFC 9113 §5.1.1).
      if (!open && list?.some((name) => name === ':method')) {
        throw new ConnectionError(CODE.protocol, `a request on stream ${id} behind ${this.lastStream}`);
      }
      this.owner.budget.waste(octets);
      if (open) this.within(id, () => open.onTrailers(list ?? [], isLast));
    }
  }

  /** `octets`: that it took. */
  private open(id: number, list: readonly string[] | undefined, isLast: boolean, octets: number): void {
    if (this.lastStream === 0) this.owner.onPresent();
    this.lastStream = id;
    if (this.owner.isRetired) {
      // Its client was told, and asks elsewhere.
      this.owner.budget.waste(octets);
    } else if (!list) this.refuse(id, CODE.enhanceYourCalm);
    else if (this.owner.streams.size >= MOST_STREAMS) this.refuse(id, CODE.refusedStream);
    else if (this.owner.ofClient.open >= this.owner.ofClient.most) this.owner.refuse(id);
    else {
      this.within(id, () => {
        const request = this.requests.read(list);
        if (isLast && request.length) throw new MalformedRequest('no body, but a length');
        const stream = new ClientStream(id, request, isLast, this.owner, this.firstWindow);
        this.owner.streams.set(id, stream);
        this.owner.ofClient.open++;
        this.owner.budget.countRequest();
        if (stream.isUpload) this.owner.inbox.beginUpload();
        this.owner.onRequest(stream);
      });
    }
  }

  private onReset(each: Frame): void {
    const open = this.find(each);
    readNumber(each);
    this.owner.budget.countReset();
    open?.onReset();
  }

  private onSettings(each: Frame): void {
    if (each.stream !== 0) throw new ConnectionError(CODE.protocol, 'settings of a stream');
    if (each.flags & FLAG.ack) {
      if (each.payload.length > 0) throw new ConnectionError(CODE.frameSize, 'an answer with settings');
      return;
    }
    this.owner.budget.countSettings();
    const values = readSettings(each);
    if (values.length > MOST_SETTINGS_AT_ONCE) throw new Flood('broken', 'more settings than there are');
    this.hasSettings = true;
    // First: for its client, a window is wider only from then on.
    this.owner.outbox.send(TAKEN);
    for (const [setting, value] of values) this.onSetting(setting, value);
  }

  private onSetting(setting: number, value: number): void {
    const isFrameSize = setting === SETTING.frameOctets;
    if (isFrameSize && (value < MOST_PAYLOAD || value > MOST_FRAME_OCTETS)) {
      throw new ConnectionError(CODE.protocol, 'the size of a frame');
    }
    if (setting === SETTING.enablePush && value > 1) throw new ConnectionError(CODE.protocol, 'whether there is push');
    if (setting !== SETTING.initialWindow) return;
    if (value > LARGEST_WINDOW) throw new ConnectionError(CODE.flowControl, 'a window that is too large');
    const grown = value - this.firstWindow;
    this.firstWindow = value;
    for (const stream of this.owner.streams.values()) this.widenStream(stream, grown);
  }

  private onGoAway({ stream, payload }: Frame): void {
    if (stream !== 0) throw new ConnectionError(CODE.protocol, 'GOAWAY of a stream');
    if (payload.length < 8) throw new ConnectionError(CODE.frameSize, 'a GOAWAY of a wrong length');
    this.owner.retire();
  }

  private onPing(each: Frame): void {
    if (each.payload.length !== 8) throw new ConnectionError(CODE.frameSize, 'a PING of a wrong length');
    if (each.stream !== 0) throw new ConnectionError(CODE.protocol, 'PING of a stream');
    if (each.flags & FLAG.ack) {
      this.owner.onPresent();
      return;
    }
    this.owner.budget.countPing();
    this.owner.outbox.send(frame(FRAME.ping, FLAG.ack, 0, each.payload));
  }

  private onWindowUpdate(each: Frame): void {
    const grown = readNumber(each) & LARGEST_WINDOW;
    if (each.stream === 0) {
      if (grown === 0) throw new ConnectionError(CODE.protocol, 'a window that grows by nothing');
      if (!this.owner.outbox.widen(grown)) throw new ConnectionError(CODE.flowControl, 'a window that is too large');
      return;
    }
    const open = this.find(each);
    if (!open) return;
    if (grown === 0) this.refuse(each.stream, CODE.protocol);
    else if (!open.widenSending(grown)) this.refuse(each.stream, CODE.flowControl);
  }

  private widenStream(stream: ClientStream, grown: number): void {
    if (!stream.widenSending(grown)) throw new ConnectionError(CODE.flowControl, 'a window that is too large');
  }
}

/** What it says has no effect any more (RFC 9113 §5.3.2). */
function checkPriority({ stream, payload }: Frame): void {
  if (stream === 0) throw new ConnectionError(CODE.protocol, 'PRIORITY of no stream');
  if (payload.length !== 5) throw new ConnectionError(CODE.frameSize, 'a PRIORITY of a wrong length');
}
