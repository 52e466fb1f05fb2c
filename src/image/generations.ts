/**
 * The buffers that the image is in, and when it moves to new ones: a new generation begins when more is garbage than in use, or when
 * little of the heap or of the slots is left. It is made in slices (renewal.ts), while readers, commits and loads go on with the former
 * one. Only when the room runs out before that, it is completed at once, and everybody waits: where what is alive nearly fills the image,
 * or one change is larger than the part that is left. Buffers stay unchanged until the last reader has dropped them.
 */
import { invariant } from '../base/errors.js';
import type { IsOver } from '../base/slices.js';
import { allocate, heapWordsFor } from './buffers.js';
import { type HeapRoom, ImageFull } from './heap-room.js';
import { Control, HEAP_START, type ImageBuffers } from './layout.js';
import { ImageReader } from './reader.js';
import { CopyFull, Renewal } from './renewal.js';
import type { Staging } from './staging.js';
import { ImageTables } from './tables.js';
import type { ZoneState } from './zone-state.js';

/** Least garbage for a new generation, in words: small images are not compacted. */
const MIN_GARBAGE = 1 << 18;
const NEVER: IsOver = () => false;

/** What is alive. */
export interface Content {
  /** By zone number, with offsets in the current heap. */
  zones: Map<number, ZoneState>;
  readonly staging: Staging;
  /** Heap words that belong to a zone, without the staged ones; all others are garbage. */
  words: number;
  nodes: number;
}

/** Words of which none is garbage. */
export function wordsInUse({ words, staging }: Content): number {
  return HEAP_START + words + staging.words;
}

/** Room beyond what is alive. */
export interface Room {
  readonly words?: number;
  readonly nodes?: number;
  readonly zones?: number;
}

/** Who has to know of buffers. */
export interface GenerationListener {
  /** Called with every new generation; the buffers must reach all readers. */
  onGeneration(buffers: ImageBuffers): void;
  /** Called with buffers that this thread does not use any more. */
  onUnused(buffers: ImageBuffers): void;
}

export class Generations {
  /** This thread's reader; it follows every new generation. */
  readonly reader: ImageReader;
  /** The current generation. */
  tables: ImageTables;
  /** The next one while it is made: it has to be told of what changes. */
  renewal: Renewal | undefined;
  private nextNumber = 2;

  /** `onAllocate`: called with buffers that nothing was written to yet. */
  constructor(
    first: ImageBuffers,
    private readonly content: Content,
    private readonly room: HeapRoom,
    private readonly onAllocate: (buffers: ImageBuffers) => void,
    private readonly listener: GenerationListener,
  ) {
    onAllocate(first);
    this.tables = new ImageTables(first);
    this.reader = new ImageReader(first);
    Atomics.store(this.reader.control, Control.zoneMinLabels, 127);
    Atomics.store(this.reader.control, Control.generation, first.generation);
  }

  garbage(): number {
    return this.tables.used - HEAP_START - this.content.words;
  }

  /** Begins a new generation with this room, unless there is room or another one is being made. */
  reserve(room: Room): void {
    if (!this.renewal && !this.hasRoom(room)) this.begin(room);
  }

  /** Makes room at once. When it throws, the image is unchanged. */
  require(room: Room): void {
    if (this.hasRoom(room)) return;
    if (this.renewal && this.advance(this.renewal, NEVER) && this.hasRoom(room)) return;
    this.begin(room);
    const isMade = this.renewal && this.advance(this.renewal, NEVER);
    invariant(isMade, 'a new generation has room for what is alive');
  }

  /** Makes a new generation when it is time for it, until another time is over. Returns whether the next call goes on with it. */
  advanceIfDue(isOver: IsOver = NEVER): boolean {
    if (!this.renewal && this.isDue()) this.begin({});
    if (this.renewal) this.advance(this.renewal, isOver);
    return this.renewal !== undefined;
  }

  /** Whether the room that is left is needed for small changes until the next generation is there. */
  isShortOfRoom(): boolean {
    return this.tables.isShortOfHeap(1 / 2) || this.tables.isShortOfSlots(1 / 2);
  }

  /** Makes a generation that has the same content, and other places of addresses. */
  setPlaces(places: ImageBuffers['places']): void {
    this.switchTo(this.tables.withPlaces(this.nextNumber++, places));
  }

  hasRoom({ words = 0, nodes = 0, zones = 0 }: Room): boolean {
    const { tables } = this;
    return tables.hasHeapRoom(words) && tables.hasSlotRoom(nodes) && tables.hasZoneRoom(zones);
  }

  private isDue(): boolean {
    const { tables, content, room } = this;
    const garbage = this.garbage();
    if ((garbage > MIN_GARBAGE && garbage > tables.used / 2) || tables.isShortOfSlots()) return true;
    // Not again and again where the heap cannot grow.
    const alive = wordsInUse(content);
    return tables.isShortOfHeap() && heapWordsFor(alive, room.small) - alive > 2 * tables.heapLeft();
  }

  /** Begins a new generation with room beyond what is alive. */
  private begin({ words = 0, nodes = 0, zones = 0 }: Room): void {
    const { content, room } = this;
    const wanted = wordsInUse(content) + words;
    if (wanted > room.small) throw new ImageFull();
    const buffers = allocate(
      // A number is never used twice, even if this fails after some readers have received the buffers.
      this.nextNumber++,
      this.tables.buffers,
      heapWordsFor(wanted, room.small),
      (content.nodes + content.staging.nodes.size + nodes) * 3,
      (content.zones.size + zones) * 3,
    );
    this.onAllocate(buffers);
    this.renewal = new Renewal(this.tables, new ImageTables(buffers), content.zones);
  }

  /** Goes on with a new generation until a time is over. Returns whether it is the current one now; if it fails, it is dropped. */
  private advance(renewal: Renewal, isOver: IsOver): boolean {
    const { content, listener } = this;
    const { target, zones } = renewal;
    const { buffers } = this.tables;
    try {
      if (!renewal.advance(isOver)) return false;
      const staged = renewal.copyStaged(content.staging.nodes);
      // Readers ignore a number below that of other places, which have been set meanwhile.
      const isLatest = target.buffers.generation > buffers.generation;
      this.switchTo(isLatest ? target : target.withPlaces(this.nextNumber++, buffers.places));
      content.zones = zones;
      content.staging.nodes = staged;
    } catch (error) {
      this.renewal = undefined;
      listener.onUnused(target.buffers);
      if (error instanceof CopyFull) return false;
      throw error;
    }
    this.renewal = undefined;
    listener.onUnused(buffers);
    return true;
  }

  private switchTo(target: ImageTables): void {
    // Posted first, because a reader that sees the new number must find the buffers on its port.
    this.listener.onGeneration(target.buffers);
    this.reader.adopt(target.buffers);
    this.tables = target;
    Atomics.store(this.reader.control, Control.generation, target.buffers.generation);
  }
}
