/** Copies a zone from another server into a zone file, for a zone that moves here. */
import { writeSync } from 'node:fs';
import { Type } from '../../dns/codes.js';
import { printName } from '../../dns/name.js';
import { printRecord } from '../../dns/zonefile/writer.js';
import { TransferFailed } from './failure.js';
import { type PrimaryContext, transferQuery } from './primary.js';
import { createTransferReader } from './reading.js';
import { type Primary, transferMessages } from './stream.js';

export interface Copied {
  readonly serial: number;
  /** Records that were written, and those outside the zone, which were not. */
  readonly records: number;
  readonly outside: number;
  /** Whether it has keys or signatures. */
  readonly isSigned: boolean;
}

/** Transfers the whole zone and writes it to an open file. Throws {@link TransferFailed}. */
export async function copyZone(
  context: PrimaryContext,
  primary: Primary,
  apex: Uint8Array,
  file: number,
): Promise<Copied> {
  const reader = createTransferReader(apex, undefined);
  let records = 0;
  let isSigned = false;
  writeSync(file, `$ORIGIN ${printName(apex)}\n`);
  for await (const { message, isCovered } of transferMessages(
    context,
    primary,
    transferQuery(context.random, apex, undefined),
  )) {
    const read = reader.read(message);
    isSigned ||= read.some(({ type }) => type === Type.dnskey || type === Type.rrsig);
    const lines = read.map(printRecord);
    records += lines.length;
    if (lines.length > 0) writeSync(file, `${lines.join('\n')}\n`);
    const { end } = reader;
    if (!end) continue;
    if (!isCovered) throw new TransferFailed('signature', 'its last message is not signed');
    writeSync(file, `${printRecord(end.soa.record)}\n`);
    const outside = end.kind === 'whole' ? end.outside : 0;
    return { serial: end.soa.serial, records: records + 1, outside, isSigned };
  }
  throw new TransferFailed('unreachable', 'it sent no answer');
}
