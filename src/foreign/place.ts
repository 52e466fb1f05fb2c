/** Where something stands in a configuration file, and what is wrong there. */
import { UserError } from '../base/errors.js';

export interface Place {
  /** As the person or an `include` named it. */
  readonly file: string;
  /** From 1. */
  readonly line: number;
}

/** A UserError about a place in a file. */
export function faultAt({ file, line }: Place, text: string, remedy?: string): UserError {
  return new UserError(`${file}:${line}: ${text}`, remedy);
}
