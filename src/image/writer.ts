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
 * Where the image is, and how it moves to new buffers, is the subject of generations.ts.
 */
import { toBase32Hex } from '../base/bytes.js';
import { invariant } from '../base/errors.js';
import type { IsOver } from '../base/slices.js';
import type { RRset } from '../dns/rr.js';
import type { Denial, HashedOwner } from '../dnssec/denial.js';
import { allocate } from './buffers.js';
import { type CompiledNode, compileHashed, compileNode, type NodeSource } from './compile.js';
import { EMPTY_INDEX, LOAD_WORDS, loadMember } from './denial-index.js';
import { type Content, type GenerationListener, Generations, type Room, wordsInUse } from './generations.js';
import { type HeapRoom, type HeapUse, heapRoom, ImageFull } from './heap-room.js';
import {
  Control,
  Flag,
  HASHED_ZONE,
  hashName,
  type ImageBuffers,
  rrsetCount,
  viewOf,
  ZoneWord,
  zoneOfNode,
} from './layout.js';
import { type CommitPlan, indexRoom, planCommit, switchWords } from './plan.js';
import type { ImageReader } from './reader.js';
import { Staging, stagingKey } from './staging.js';
import { type ImageTables, ZONE_RECORD_WORDS } from './tables.js';
import { countNode, isMember, memberKey, type ZoneState } from './zone-state.js';

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
  /** Whether the next one is being made. */
  readonly isRenewing: boolean;
  readonly nodes: number;
  readonly zones: number;
  readonly heapOctets: number;
  readonly garbageOctets: number;
  readonly slotOctets: number;
}

export class ImageWriter implements GenerationListener {
  /** This thread's reader; it follows every new generation. */
  readonly reader: ImageReader;
  onGeneration: (buffers: ImageBuffers) => void = () => {};
  onUnused: (buffers: ImageBuffers) => void = () => {};
  /** What is loaded or staged from now on is for this. */
  use: HeapUse = 'growth';

  readonly room: HeapRoom;
  private readonly staging = new Staging();
  private readonly content: Content = { zones: new Map(), staging: this.staging, words: 0, nodes: 0 };
  private readonly generations: Generations;
  private nextZone = 2;

  constructor(options: WriterOptions) {
    const { seed, heapWords = 1 << 20, slots = 1 << 12, zoneSlots = 1 << 8, states = 1 << 12 } = options;
    const { mostWords, onAllocate = () => {} } = options;
    this.room = heapRoom(mostWords);
    const words = Math.min(heapWords, this.room.small);
    const shared = (length: number): SharedArrayBuffer => new SharedArrayBuffer(length * 4);
    const lasting = { seed, control: shared(Control.length), states: shared(states) };
    const buffers = allocate(1, lasting, words, slots, zoneSlots);
    this.generations = new Generations(buffers, this.content, this.room, onAllocate, this);
    this.reader = this.generations.reader;
  }

  private get tables(): ImageTables {
    return this.generations.tables;
  }

  private get zones(): Map<number, ZoneState> {
    return this.content.zones;
  }

  /** The current shared memory, for a starting thread. */
  current(): ImageBuffers {
    return this.tables.buffers;
  }

  usage(): ImageUsage {
    const { generation, filter, slots, zoneSlots } = this.tables.buffers;
    return {
      generation,
      isRenewing: this.isRenewing(),
      nodes: this.content.nodes,
      zones: this.zones.size,
      heapOctets: this.tables.used * 4,
      garbageOctets: this.generations.garbage() * 4,
      slotOctets: filter.byteLength + slots.byteLength + zoneSlots.byteLength,
    };
  }

  /** Begins a new generation if there is no room for a zone with this many records, so that loading it does not need several. */
  reserve(records: number, denial?: Denial): void {
    this.generations.reserve(this.roomOf(records, denial));
  }

  /** Whether there is room for such a zone, and for small changes until the next generation is there. */
  hasRoomToLoad(records: number, denial?: Denial): boolean {
    return !this.generations.isShortOfRoom() && this.generations.hasRoom(this.roomOf(records, denial));
  }

  /** An estimate: whether there is room shows only when the zone is loaded. */
  private roomOf(records: number, denial?: Denial): Room {
    const wanted = records * (denial ? WORDS_PER_SIGNED_RECORD : WORDS_PER_RECORD);
    const words = Math.min(wanted, Math.max(0, this.room[this.use] - wordsInUse(this.content)));
    return { words, nodes: denial?.kind === 'nsec3' ? records * 2 : records };
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
    this.generations.renewal?.noteZone(zone);
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
    this.replaceState(zone, undefined);
    this.generations.renewal?.noteZone(zone);
  }

  /** Stages a node of a served zone; it replaces a node with the same name. */
  putNode(zone: number, source: NodeSource): void {
    this.putCompiled(zone, source.owner, compileNode(source, zone, this.reader.seed));
  }

  /** The same for one that is compiled already. `zone`: the number in the node. `key`: of `zone` and `name`, if it is made already. */
  putCompiled(zone: number, name: Uint8Array, compiled: CompiledNode, key: string = stagingKey(zone, name)): void {
    const { hash, node } = this.append(zone, () => compiled);
    this.staging.put(this.reader.words, key, { zone, hash, name, node });
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
    return wordsInUse(this.content) > this.room.growth;
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
  removeNode(zone: number, name: Uint8Array, key: string = stagingKey(zone, name)): void {
    this.staging.put(this.reader.words, key, { zone, hash: hashName(this.reader.seed, name), name, node: 0 });
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
    this.generations.renewal?.noteZone(zone);
    if (state.record !== 0) this.tables.view.words[state.record + ZoneWord.expires] = seconds;
  }

  /** Replaces what is known of where addresses are. */
  setPlaces(places: ImageBuffers['places']): void {
    this.generations.setPlaces(places);
  }

  /**
   * Makes a new generation when more is garbage than in use, or little room is left. Returns whether it is not ready when a time is over:
   * the next call goes on. When it throws, the image is unchanged.
   */
  compact(isOver?: IsOver): boolean {
    return this.generations.advanceIfDue(isOver);
  }

  /** Whether a new generation is being made. */
  isRenewing(): boolean {
    return this.generations.renewal !== undefined;
  }

  private zoneState(zone: number): ZoneState {
    const state = this.zones.get(zone);
    invariant(state, `zone number ${zone} is known`);
    return state;
  }

  /** `zone`: the number in the node. */
  private load(zone: number, name: Uint8Array, compile: () => CompiledNode): void {
    // Before the node is appended, because new buffers keep only what slots point to.
    this.generations.require({ nodes: 1 });
    const isSigned = this.zoneState(zoneOfNode(zone)).denial !== undefined;
    const { hash, flags, node, size } = this.append(zone, compile, isSigned ? LOAD_WORDS : 0);
    // Not before: new buffers come with new states.
    const state = this.zoneState(zoneOfNode(zone));
    const slot = this.tables.fillSlot(zone, hash, node);
    this.generations.renewal?.noteSlot(slot);
    this.generations.renewal?.noteZone(zoneOfNode(zone));
    this.content.nodes++;
    countNode(state, flags, 1);
    const before = state.index.words;
    if (isMember(state, flags)) state.index = loadMember(this.tables, state.index, memberKey(state, name), slot);
    const more = size + state.index.words - before;
    state.words += more;
    this.content.words += more;
    if (flags & Flag.apex) state.apexNode = node;
  }

  private append(
    zone: number,
    compile: () => CompiledNode,
    room = 0,
  ): { hash: number; flags: number; node: number; size: number } {
    this.zoneState(zoneOfNode(zone));
    const { words, hash, flags } = compile();
    if (wordsInUse(this.content) + words.length + room > this.room[this.use]) throw new ImageFull();
    this.generations.require({ words: words.length + room });
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
    const { staging } = this;
    const nodes = staging.nodes.size;
    const zones = staging.zones.length;
    const words = zones * ZONE_RECORD_WORDS + indexRoom(this.zones, staging.nodes.values(), staging.zones);
    this.generations.require({ nodes, zones, words });
  }

  /** Updates the writer's state to what the plan made visible. */
  private settle(plan: CommitPlan): void {
    this.tables.takenSlots += plan.takenSlots;
    this.tables.takenZoneSlots += plan.takenZoneSlots;
    for (const [zone, state] of plan.zones) this.replaceState(zone, state);
    this.generations.renewal?.noteCommit(plan);
    this.staging.clear();
  }

  private replaceState(zone: number, state: ZoneState | undefined): void {
    const { content } = this;
    const before = content.zones.get(zone);
    content.words += (state?.words ?? 0) - (before?.words ?? 0);
    content.nodes += (state?.nodes ?? 0) - (before?.nodes ?? 0);
    if (state) content.zones.set(zone, state);
    else content.zones.delete(zone);
  }
}
