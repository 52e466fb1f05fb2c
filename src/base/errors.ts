/**
 * Typed failures. They are created where the cause is known, and each protocol turns them into wire form in one place.
 */

/** One row of an area's error table: HTTP status, v4 code, and a text that may contain `{param}`. */
export interface ErrorDefinition {
  readonly status: number;
  readonly code: number;
  readonly text: string;
}

export interface ChainedError {
  readonly code: number;
  readonly message: string;
}

export interface FailureOptions {
  /** JSON pointer to the invalid member of the request, such as `/ttl`. */
  readonly pointer?: string;
  /** v4 `error_chain` members. */
  readonly chain?: readonly ChainedError[];
  /** Further items of the v4 `errors` list after this one (v4: §15.3, duplicates). */
  readonly also?: readonly ChainedError[];
  /** When the same request may succeed. */
  readonly retryAfterSeconds?: number;
}

/**
 * A refusal with a stable key (`records.duplicate`), an HTTP status and a v4 code. It is never a bug, so no stack is
 * logged.
 */
export class AppError extends Error {
  constructor(
    readonly key: string,
    readonly status: number,
    readonly code: number,
    message: string,
    readonly pointer?: string,
    readonly chain?: readonly ChainedError[],
    readonly also?: readonly ChainedError[],
    readonly retryAfterSeconds?: number,
  ) {
    super(message);
    this.name = 'AppError';
  }

  /** The same refusal of a part of a larger request; `place` is the JSON pointer to the part. */
  within(place: string): AppError {
    const { key, status, code, message, pointer = '', chain, also } = this;
    return new AppError(key, status, code, message, `${place}${pointer}`, chain, also);
  }
}

export type Failure<Key extends string> = (
  key: Key,
  params?: Readonly<Record<string, string | number>>,
  options?: FailureOptions,
) => AppError;

/**
 * Makes the error factory of one area from its table. Usage: `const failure = defineErrors('records', { missing: {
 * status: 404, code: 81044, text: 'Record does not exist.' } });` then `throw failure('missing')`.
 */
export function defineErrors<Table extends Readonly<Record<string, ErrorDefinition>>>(
  area: string,
  table: Table,
): Failure<Extract<keyof Table, string>> {
  return (key, params = {}, options = {}) => {
    const definition = table[key] as ErrorDefinition;
    const text = definition.text.replace(/\{(\w+)\}/g, (_, name: string) => String(params[name] ?? `{${name}}`));
    const { pointer, chain, also, retryAfterSeconds } = options;
    const { status, code } = definition;
    return new AppError(`${area}.${key}`, status, code, text, pointer, chain, also, retryAfterSeconds);
  };
}

/**
 * A problem that the operator must fix, such as an occupied port or an invalid setting. It is printed as sentences on
 * stderr, without a stack.
 */
export class UserError extends Error {
  constructor(
    message: string,
    /** What to do next, printed on its own line. */
    readonly remedy?: string,
    /** 1: refused. 2: wrong usage. 130: interrupted. */
    readonly exitCode: 1 | 2 | 130 = 1,
  ) {
    super(message);
    this.name = 'UserError';
  }
}

/** The master key does not open the secrets of the database. What is stored can be answered without them. */
export class LockedError extends UserError {}

/** Checks a condition that the code relies on. A failure is a bug; it ends the request, never the process. */
export function invariant(condition: unknown, text: string): asserts condition {
  if (!condition) throw new Error(`invariant broken: ${text}`);
}

/** The message of any thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
