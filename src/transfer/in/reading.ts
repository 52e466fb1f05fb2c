/**
 * Reads the records of a transfer, message by message, and checks their order: a whole zone between its SOA and the same
 * SOA (RFC 5936 §2.2), or differences (RFC 1995 §4). Pure.
 */
import { equalBytes } from '../../base/bytes.js';
import { Class, Type } from '../../dns/codes.js';
import type { ReadMessage, ReadRecord } from '../../dns/message.js';
import { isAtOrBelow, nameEquals, printName } from '../../dns/name.js';
import { typeMnemonic } from '../../dns/rr/registry.js';
import { serialIsAfter } from '../../dns/serial.js';
import { TransferFailed } from './failure.js';

export interface Soa {
  readonly serial: number;
  /** Seconds. */
  readonly refresh: number;
  readonly retry: number;
  readonly expire: number;
  readonly record: ReadRecord;
}

/** One step between two versions. */
export interface Step {
  readonly from: number;
  readonly to: number;
  readonly removed: readonly ReadRecord[];
  readonly added: readonly ReadRecord[];
}

export type TransferEnd =
  /** The primary has the stored version, or an older one. */
  | { readonly kind: 'current'; readonly soa: Soa }
  /** The records were handed over in parts. */
  | { readonly kind: 'whole'; readonly soa: Soa; readonly outside: number }
  | { readonly kind: 'differences'; readonly soa: Soa; readonly steps: readonly Step[] };

export interface TransferReader {
  /** Takes a message and returns the records of a whole zone in it, without its SOA. Throws {@link TransferFailed}. */
  read(message: ReadMessage): readonly ReadRecord[];
  /** Undefined until the last record came. */
  readonly end: TransferEnd | undefined;
  /** Whether a whole zone comes, and not differences; undefined until that is known. */
  readonly isWhole: boolean | undefined;
}

/** Differences with more records are not read; the whole zone takes less. */
const MOST_DIFFERENCES = 100_000;
/** The same of their octets: they are kept in memory until they are applied. */
const MOST_DIFFERENCE_OCTETS = 32 << 20;

/** Types of questions, and of records that belong to messages: no zone has them (RFC 6895 §3.1). */
function isMeta(type: number): boolean {
  return type === 0 || type === Type.opt || (type >= 128 && type <= 255);
}

/** `from`: the serial of the stored version for which differences were requested; undefined: the whole zone was. */
export function createTransferReader(apex: Uint8Array, from: number | undefined): TransferReader {
  return new Reader(apex, from);
}

interface GrowingStep extends Step {
  readonly removed: ReadRecord[];
  readonly added: ReadRecord[];
}

class Reader implements TransferReader {
  end: TransferEnd | undefined;
  isWhole: boolean | undefined;
  private first: Soa | undefined;
  private messages = 0;
  private outside = 0;
  private differences = 0;
  private octets = 0;
  private readonly steps: GrowingStep[] = [];
  private step: GrowingStep | undefined;
  private isAdding = false;

  constructor(
    private readonly apex: Uint8Array,
    private readonly from: number | undefined,
  ) {}

  read({ answers }: ReadMessage): readonly ReadRecord[] {
    this.messages++;
    const records: ReadRecord[] = [];
    for (const record of answers) {
      if (this.end) throw lying('records follow its last SOA');
      const taken = this.take(record);
      if (taken) records.push(taken);
    }
    this.noteShortAnswer(answers.length);
    return records;
  }

  /** Returns a record of a whole zone. */
  private take(record: ReadRecord): ReadRecord | undefined {
    if (record.class !== Class.in) throw lying(`a record has the class ${record.class}`);
    if (isMeta(record.type)) throw lying(`it sent a record of the type ${typeMnemonic(record.type)}`);
    const isSoa = record.type === Type.soa;
    if (isSoa && !nameEquals(record.owner, this.apex)) throw lying(`it sent the SOA of ${printName(record.owner)}`);
    const { first } = this;
    if (!first) {
      if (!isSoa) throw lying('it did not begin with the SOA');
      this.first = soaOf(record);
      return undefined;
    }
    this.isWhole ??= !(this.from !== undefined && isSoa && soaOf(record).serial === this.from);
    if (!this.isWhole) {
      this.takeDifference(record, first, isSoa);
      return undefined;
    }
    if (isSoa) {
      if (!equalBytes(record.rdata, first.record.rdata)) {
        throw lying(`its first SOA has the serial ${first.serial}, its last one ${soaOf(record).serial}`);
      }
      this.end = { kind: 'whole', soa: first, outside: this.outside };
      return undefined;
    }
    return this.isInside(record) ? record : undefined;
  }

  private takeDifference(record: ReadRecord, first: Soa, isSoa: boolean): void {
    // SOAs count, too: steps without other records could go on for ever, and each is kept.
    if (++this.differences > MOST_DIFFERENCES) {
      throw new TransferFailed('unfit', `its differences have more than ${MOST_DIFFERENCES} records`);
    }
    this.octets += record.owner.length + record.rdata.length;
    if (this.octets > MOST_DIFFERENCE_OCTETS) {
      throw new TransferFailed('unfit', `its differences have more than ${MOST_DIFFERENCE_OCTETS >> 20} MiB`);
    }
    if (isSoa) this.takeStep(soaOf(record), first);
    else if (this.isInside(record)) (this.isAdding ? this.step!.added : this.step!.removed).push(record);
  }

  /** Each step begins with the SOA before it; the one after it divides what is removed from what is added. */
  private takeStep(soa: Soa, first: Soa): void {
    const { step } = this;
    if (step && !this.isAdding) {
      this.step = { ...step, to: soa.serial };
      this.isAdding = true;
      return;
    }
    if (step) this.steps.push(step);
    const reached = step?.to ?? this.from!;
    if (step && reached === first.serial && equalBytes(soa.record.rdata, first.record.rdata)) {
      this.end = { kind: 'differences', soa: first, steps: this.steps };
      return;
    }
    if (soa.serial !== reached) {
      throw new TransferFailed('unfit', `its differences go from ${soa.serial}, but ${reached} was reached`);
    }
    this.step = { from: soa.serial, to: soa.serial, removed: [], added: [] };
    this.isAdding = false;
  }

  /**
   * Over a stream, too, a server that has nothing newer answers with one SOA (RFC 1995 §2). A newer serial announces records in
   * further messages.
   */
  private noteShortAnswer(records: number): void {
    const { first } = this;
    if (this.messages > 1 || this.end) return;
    if (records === 0 || !first) throw lying('it answered without records');
    if (records === 1 && this.from !== undefined && !serialIsAfter(first.serial, this.from)) {
      this.end = { kind: 'current', soa: first };
    }
  }

  private isInside({ owner }: ReadRecord): boolean {
    const inside = isAtOrBelow(owner, this.apex);
    if (!inside) this.outside++;
    return inside;
  }
}

function lying(text: string): TransferFailed {
  return new TransferFailed('lying', text);
}

/** The numbers of an SOA (RFC 1035 §3.3.13). */
export function soaOf(record: ReadRecord): Soa {
  const { rdata } = record;
  const numbers = new DataView(rdata.buffer, rdata.byteOffset + rdata.length - 20);
  return {
    serial: numbers.getUint32(0),
    refresh: numbers.getUint32(4),
    retry: numbers.getUint32(8),
    expire: numbers.getUint32(12),
    record,
  };
}
