/** Readers of option values that several commands take. */
import { InvalidArgumentError, Option } from 'commander';

/** `--limit` of lists. */
export function limitOption(): Option {
  return new Option('--limit <count>', 'at most this many (default: all)').argParser(
    wholeNumber(1, 100_000_000, 'a number'),
  );
}

/** `--ttl` of records. The rules for records say which values are allowed. */
export function ttlOption(): Option {
  return new Option('--ttl <seconds>', 'time to live; 1 (or 0) is automatic').argParser(
    wholeNumber(0, 2147483647, 'seconds'),
  );
}

/** For options that may be given several times. */
export function gather(value: string, previous: readonly string[] = []): string[] {
  return [...previous, value];
}

/** A reader of whole numbers in a range; `what` names them in the complaint. */
export function wholeNumber(least: number, most: number, what: string): (text: string) => number {
  return (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return value;
    throw new InvalidArgumentError(`Expected ${what} from ${least} to ${most}.`);
  };
}
