/**
 * Zone transfers: how soon stock secondaries follow, what transfers and floods cost, and what they cost those who ask for
 * names.
 */
import type { Figures } from '../writes.js';
import { measurePropagation } from './propagation.js';
import { measureStorms } from './storms.js';
import { measureWholeZones } from './whole-zones.js';

export const TRANSFER_SECTIONS = ['propagation', 'whole', 'storms'] as const;

export interface TransferBenchOptions {
  readonly sections: readonly string[];
  readonly changes: number;
  /** Host names in large zones. */
  readonly names: number;
  readonly rounds: number;
  readonly taskset: boolean;
}

export async function measureTransfers(
  directory: string,
  port: number,
  { sections, changes, names, rounds, taskset }: TransferBenchOptions,
): Promise<Figures> {
  return {
    ...(sections.includes('propagation') && (await measurePropagation(directory, port, { changes, taskset }))),
    ...(sections.includes('whole') && (await measureWholeZones(directory, port + 20, { names, rounds }))),
    ...(sections.includes('storms') && (await measureStorms(directory, port + 40))),
  };
}
