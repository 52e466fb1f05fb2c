/** Findings of the verification of a signed zone. */
import type { Issue } from '../base/result.js';
import { printName } from '../dns/name.js';
import { typeMnemonic } from '../dns/rr/registry.js';
import type { PlacedRR } from './signed-zone.js';

export interface Finding {
  /** An error makes validating resolvers reject the data; a warning does not. */
  readonly severity: 'error' | 'warning';
  /** Stable key in kebab case. */
  readonly code: string;
  readonly message: string;
  /** The affected record; undefined when the whole zone or a missing record is concerned. */
  readonly place: PlacedRR | undefined;
}

/** A finding as files are judged. */
export function issueOfFinding({ severity, code, message, place }: Finding): Issue {
  const { file, line } = place ?? {};
  return { severity, code, message, ...(line ? { line } : {}), ...(file === undefined ? {} : { file }) };
}

/** Owner and type for messages. */
export function rrsetName(owner: Uint8Array, type: number): string {
  return `${printName(owner)} ${typeMnemonic(type)}`;
}
