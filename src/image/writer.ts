/**
 * The only writer of the image: it appends nodes, switches slots and makes new generations.
 *
 * A change is staged (`putNode`, `removeNode`, `publishZone`, `removeZone`) and becomes visible as a whole in `commit`, under the
 * sequence word: odd while words are switched, even afterwards. Readers compare it before and after each answer, so no answer mixes
 * two states. A reloaded zone is built under a new zone number that no record names yet, so its nodes need no staging.
 *
 * Every call either completes or throws and leaves the readers' view unchanged. Room is made, nodes are compiled and the commit is
 * planned (plan.ts) before the sequence word becomes odd. While it is odd, only words are stored, which cannot fail.
 *
 * When the heap or the slots are full, or more is garbage than in use, everything alive is copied into new buffers: a new
 * generation. Old buffers stay unchanged until the last reader has dropped them.
 */
import { toBase32Hex } from '../base/bytes.js';
import { invariant } from '../base/errors.js';
import type { RRset } from '../dns/rr.js';
import type { Denial, HashedOwner } from '../dnssec/denial.js';
import { allocate, powerOfTwo } from './buffers.js';
import { type CompiledNode, compileHashed, compileNode, type NodeSource } from './compile.js';
import { copyImage } from './copy.js';
import { EMPTY_INDEX, LOAD_WORDS, loadMember } from './denial-index.js';
import { type HeapRoom, type HeapUse, heapRoom, ImageFull } from './heap-room.js';
import {
  Control,
  Flag,
  HASHED_ZONE,
  HEAP_START,
  hashName,
  type ImageBuffers,
  rrsetCount,
  viewOf,
  ZoneWord,
  zoneOfNode,
} from './layout.js';
import { type CommitPlan, indexRoom, planCommit, switchWords } from './plan.js';
import { ImageReader } from './reader.js';
import { Staging } from './staging.js';
import { ImageTables, ZONE_RECORD_WORDS } from './tables.js';
import { countNode, isMember, memberKey, type ZoneState } from './zone-state.js';

/** Least garbage for a compaction, in words; small images are not compacted. */
const MIN_GARBAGE = 1 << 18;
/** A host name with one address takes about 20 words; with a signature, and a signed NSEC or NSEC3 record, about 120. */
const WORDS_PER_RECORD = 32;
const WORDS_PER_SIGNED_RECORD = 160;

export interface WriterOptions {
  /** Unpredictable 32 bits, so that attackers cannot prepare colliding names. */
  readonly seed: number;
  /** Initial size of the heap in words; memory that is never written to is not used. */
  readonly heapWords?: number;
  readonly slots?: number;
  readonly zoneSlots?: number;
  /** Called with buffers that nothing was written to yet. */
  readonly onAllocate?: (buffers: ImageBuffers) => void;
  /** Origins and pools of load balancers whose states there is room for. */
  readonly states?: number;
  /** Words that the heap can have. */
  readonly mostWords?: number;
}

/** Sizes in octets. */
export interface ImageUsage {
  readonly generation: number;
  readonly nodes: number;
  readonly zones: number;
  readonly heapOctets: number;
  readonly garbageOctets: number;
  readonly slotOctets: number;
}

/** Room that new buffers need beyond what is alive. */
interface Room {
  readonly words?: number;
  readonly nodes?: number;
  readonly zones?: number;
}

export class ImageWriter {
  /** This thread's reader; it follows every new generation. */
  readonly reader: ImageReader;
  /** Called with every new generation; the buffers must reach all readers. */
  onGeneration: (buffers: ImageBuffers) => void = () => {};
  /** What is loaded or staged from now on is for this. */
  use: HeapUse = 'growth';

  private tables: ImageTables;
  private zones = new Map<number, ZoneState>();
  private readonly staging = new Staging();
  private nextZone = 2;
  private nextGeneration = 2;
  /** Heap words that belong to a zone, without the staged ones; all others are garbage. */
  private alive = 0;
  readonly room: HeapRoom;
  private readonly onAllocate: (buffers: ImageBuffers) => void;

  constructor(options: WriterOptions) {
    const { seed, heapWords = 1 << 20, slots = 1 << 12, zoneSlots = 1 << 8, states = 1 << 12, mostWords } = options;
    this.room = heapRoom(mostWords);
    this.onAllocate = options.onAllocate ?? (() => {});
    const words = Math.min(heapWords, this.room.small);
    const shared = (length: number): SharedArrayBuffer => new SharedArrayBuffer(length * 4);
    const lasting = { seed, control: shared(Control.length), states: shared(states) };
    const buffers = allocate(1, lasting, words, slots, zoneSlots);
    this.onAllocate(buffers);
    this.tables = new ImageTables(buffers);
    this.reader = new ImageReader(buffers);
    Atomics.store(this.reader.control, Control.zoneMinLabels, 127);
    Atomics.store(this.reader.control, Control.generation, 1);
  }

  /** The current shared memory, for a starting thread. */
  current(): ImageBuffers {
    return this.tables.buffers;
  }

  usage(): ImageUsage {
    let nodes = 0;
    for (const zone of this.zones.values()) nodes += zone.nodes;
    const { generation, filter, slots, zoneSlots } = this.tables.buffers;
    return {
      generation,
      nodes,
      zones: this.zones.size,
      heapOctets: this.tables.used * 4,
      garbageOctets: this.garbage() * 4,
      slotOctets: filter.byteLength + slots.byteLength + zoneSlots.byteLength,
    };
  }

  /** Makes room for a zone with this many records at once, so that loading it does not copy the image repeatedly. */
  reserve(records: number, denial?: Denial): void {
    const wanted = records * (denial ? WORDS_PER_SIGNED_RECORD : WORDS_PER_RECORD);
    // An estimate: whether there is room shows only when the zone is loaded.
    const words = Math.min(wanted, Math.max(0, this.room[this.use] - this.inUse()));
    const room = { words, nodes: denial?.kind === 'nsec3' ? records * 2 : records };
    if (!this.tables.hasHeapRoom(room.words) || !this.tables.hasSlotRoom(room.nodes)) this.renew(room);
  }

  /**
   * Returns a number for a zone to load; it is invisible until `publishZone`. `apex` must be in lower case. With `denial`
   * the zone is signed: its nodes with NSEC, or its hashed owners, prove what does not exist.
   */
  beginZone(apex: Uint8Array, denial?: Denial): number {
    const zone = this.nextZone;
    this.nextZone += 2;
    this.zones.set(zone, {
      apex,
      record: 0,
      words: 0,
      nodes: 0,
      cuts: 0,
      wildcards: 0,
      apexNode: 0,
      denial,
      index: EMPTY_INDEX,
      salt: 0,
      expires: 0,
    });
    return zone;
  }

  /** Adds a node to a zone that is being loaded. Each name may be added once; signed zones load fastest in order. */
  loadNode(zone: number, source: NodeSource): void {
    this.load(zone, source.owner, () => compileNode(source, zone, this.reader.seed));
  }

  /** Adds the owner of an NSEC3 record to a zone that is being loaded. */
  loadHashed(zone: number, { hash, rrset }: HashedOwner): void {
    const owner = this.hashedName(zone, hash);
    this.load(zone + HASHED_ZONE, owner, () => this.compileHashed(zone, owner, rrset));
  }

  /** Stages that the zone loaded as `zone` is served, replacing the one served as `replaced`. */
  publishZone(zone: number, replaced?: number): void {
    this.zoneState(zone);
    this.staging.zones.push({ kind: 'publish', zone, replaced });
  }

  /** Stages that the zone is no longer served. */
  removeZone(zone: number): void {
    this.zoneState(zone);
    this.staging.zones.push({ kind: 'remove', zone });
  }

  /** Drops a zone that was begun and will not be published; does nothing when it is already dropped. */
  abandonZone(zone: number): void {
    this.alive -= this.zones.get(zone)?.words ?? 0;
    this.zones.delete(zone);
  }

  /** Stages a node of a served zone; it replaces a node with the same name. */
  putNode(zone: number, source: NodeSource): void {
    this.putCompiled(zone, source.owner, compileNode(source, zone, this.reader.seed));
  }

  /** The same for one that is compiled already. `zone`: the number in the node. */
  putCompiled(zone: number, name: Uint8Array, compiled: CompiledNode): void {
    const { hash, node } = this.append(zone, () => compiled);
    this.staging.put(this.reader.words, { zone, hash, name, node });
  }

  /** Words by which a zone will have grown with what is staged for it. */
  stagedGrowth(zone: number): number {
    return this.staging.growthOf(zone, this.reader);
  }

  /** Words that belong to a zone, without what is staged. */
  wordsOf(zone: number): number {
    return this.zones.get(zone)?.words ?? 0;
  }

  /** Whether only the reserve is left. */
  isNearlyFull(): boolean {
    return this.inUse() > this.room.growth;
  }

  /** Stages the owner of an NSEC3 record; it replaces one with the same hash. */
  putHashed(zone: number, { hash, rrset }: HashedOwner): void {
    const name = this.hashedName(zone, hash);
    this.putCompiled(zone + HASHED_ZONE, name, this.compileHashed(zone, name, rrset));
  }

  /** Stages the removal of the owner of an NSEC3 record; does nothing when it does not exist. */
  removeHashed(zone: number, hash: Uint8Array): void {
    this.removeNode(zone + HASHED_ZONE, this.hashedName(zone, hash));
  }

  /** Stages the removal of a name; does nothing when the name does not exist. */
  removeNode(zone: number, name: Uint8Array): void {
    this.staging.put(this.reader.words, { zone, hash: hashName(this.reader.seed, name), name, node: 0 });
  }

  /** Word offset of a name's node after the last commit, or 0. */
  findNode(zone: number, name: Uint8Array): number {
    return this.reader.findNode(zone, hashName(this.reader.seed, name), viewOf(name), 0, name.length);
  }

  /** Number of RRsets at a node found by `findNode`. */
  rrsetCount(node: number): number {
    return rrsetCount(this.reader.words, node);
  }

  /**
   * Makes everything staged visible at once. Returns the new sequence. When it throws, readers still see the former
   * state and everything is still staged: the caller discards it or tries again.
   */
  commit(): number {
    this.makeCommitRoom();
    const plan = planCommit(this.tables, this.zones, this.staging.nodes.values(), this.staging.zones);
    const sequence = switchWords(this.reader.control, plan.writes);
    this.settle(plan);
    return sequence;
  }

  /** Drops everything staged, and the zones that were loaded for publication. */
  discard(): void {
    for (const { kind, zone } of this.staging.zones) if (kind === 'publish') this.abandonZone(zone);
    this.staging.clear();
  }

  /** Until when a copy of a secondary zone may be served (seconds since 1970), or 0. It is visible at once: nothing depends on it. */
  setExpiry(zone: number, seconds: number): void {
    const state = this.zoneState(zone);
    state.expires = seconds;
    if (state.record !== 0) this.tables.view.words[state.record + ZoneWord.expires] = seconds;
  }

  /** Replaces what is known of where addresses are. */
  setPlaces(places: ImageBuffers['places']): void {
    this.switchTo(this.tables.withPlaces(this.nextGeneration++, places));
  }

  /** Makes a new generation when more is garbage than in use. When it throws, the image is unchanged. */
  compact(): void {
    const garbage = this.garbage();
    if (garbage > MIN_GARBAGE && garbage > this.tables.used / 2) this.renew({});
  }

  private garbage(): number {
    return this.tables.used - HEAP_START - this.alive;
  }

  private zoneState(zone: number): ZoneState {
    const state = this.zones.get(zone);
    invariant(state, `zone number ${zone} is known`);
    return state;
  }

  /** `zone`: the number in the node. */
  private load(zone: number, name: Uint8Array, compile: () => CompiledNode): void {
    // Before the node is appended, because new buffers keep only what slots point to.
    if (!this.tables.hasSlotRoom(1)) this.renew({ nodes: 1 });
    const isSigned = this.zoneState(zoneOfNode(zone)).denial !== undefined;
    const { hash, flags, node, size } = this.append(zone, compile, isSigned ? LOAD_WORDS : 0);
    // Not before: new buffers come with new states.
    const state = this.zoneState(zoneOfNode(zone));
    const slot = this.tables.fillSlot(zone, hash, node);
    countNode(state, flags, 1);
    const before = state.index.words;
    if (isMember(state, flags)) state.index = loadMember(this.tables, state.index, memberKey(state, name), slot);
    const more = size + state.index.words - before;
    state.words += more;
    this.alive += more;
    if (flags & Flag.apex) state.apexNode = node;
  }

  private append(
    zone: number,
    compile: () => CompiledNode,
    room = 0,
  ): { hash: number; flags: number; node: number; size: number } {
    this.zoneState(zoneOfNode(zone));
    const { words, hash, flags } = compile();
    if (this.inUse() + words.length + room > this.room[this.use]) throw new ImageFull();
    if (!this.tables.hasHeapRoom(words.length + room)) this.renew({ words: words.length + room });
    return { hash, flags, node: this.tables.append(words), size: words.length };
  }

  /** `owner`: see {@link hashedName}. */
  compileHashed(zone: number, owner: Uint8Array, rrset: RRset): CompiledNode {
    const { apex } = this.zoneState(zone);
    return compileHashed({ owner, apex }, rrset, zone + HASHED_ZONE, this.reader.seed);
  }

  /** The owner name of an NSEC3 record. */
  hashedName(zone: number, hash: Uint8Array): Uint8Array {
    const label = Buffer.from(toBase32Hex(hash).toLowerCase(), 'latin1');
    return new Uint8Array(Buffer.concat([Uint8Array.of(label.length), label, this.zoneState(zone).apex]));
  }

  private makeCommitRoom(): void {
    const { tables, staging } = this;
    const nodes = staging.nodes.size;
    const zones = staging.zones.length;
    const words = zones * ZONE_RECORD_WORDS + indexRoom(this.zones, staging.nodes.values(), staging.zones);
    if (tables.hasSlotRoom(nodes) && tables.hasZoneRoom(zones) && tables.hasHeapRoom(words)) return;
    this.renew({ nodes, zones, words });
  }

  /** Updates the writer's state to what the plan made visible. */
  private settle({ zones, takenSlots, takenZoneSlots }: CommitPlan): void {
    this.tables.takenSlots += takenSlots;
    this.tables.takenZoneSlots += takenZoneSlots;
    for (const [zone, state] of zones) {
      this.alive += (state?.words ?? 0) - (this.zones.get(zone)?.words ?? 0);
      if (state) this.zones.set(zone, state);
      else this.zones.delete(zone);
    }
    this.staging.clear();
  }

  /** Words of which none is garbage. */
  private inUse(): number {
    return HEAP_START + this.alive + this.staging.words;
  }

  /** Copies everything alive into new buffers with more room, gives them to the readers and switches to them. */
  private renew(room: Room): void {
    // A number is never used twice, even if this fails after some readers have received the buffers.
    const generation = this.nextGeneration++;
    const target = new ImageTables(this.allocateFor(generation, room));
    const { zones, staged } = copyImage(this.tables, target, this.zones, this.staging.nodes);
    this.switchTo(target);
    this.zones = zones;
    this.staging.nodes = staged;
  }

  private switchTo(target: ImageTables): void {
    // Posted first, because a reader that sees the new number must find the buffers on its port.
    this.onGeneration(target.buffers);
    this.reader.adopt(target.buffers);
    this.tables = target;
    Atomics.store(this.reader.control, Control.generation, target.buffers.generation);
  }

  private allocateFor(generation: number, room: Room): ImageBuffers {
    let nodes = this.staging.nodes.size + (room.nodes ?? 0);
    for (const zone of this.zones.values()) nodes += zone.nodes;
    const words = this.inUse() + (room.words ?? 0);
    if (words > this.room.small) throw new ImageFull();
    const buffers = allocate(
      generation,
      this.tables.buffers,
      Math.min(this.room.small, Math.max(1 << 20, words * 2)),
      powerOfTwo(nodes * 3),
      powerOfTwo((this.zones.size + (room.zones ?? 0)) * 3),
    );
    this.onAllocate(buffers);
    return buffers;
  }
}
