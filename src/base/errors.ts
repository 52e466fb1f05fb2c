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
  readonly pointer?: string | undefined;
  /** v4 `error_chain` members. */
  readonly chain?: readonly ChainedError[] | undefined;
  /** Further items of the v4 `errors` list after this one (v4: §15.3, duplicates). */
  readonly also?: readonly ChainedError[] | undefined;
  /** When the same request may succeed, seconds from now. */
  readonly retryAfterSeconds?: number | undefined;
}

/**
 * A refusal with a stable key (`records.duplicate`), an HTTP status and a v4 code. It is never a bug, so no stack is
 * logged.
 */
export class AppError extends Error implements FailureOptions {
  readonly pointer: string | undefined;
  readonly chain: readonly ChainedError[] | undefined;
  readonly also: readonly ChainedError[] | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(
    readonly key: string,
    readonly status: number,
    readonly code: number,
    message: string,
    { pointer, chain, also, retryAfterSeconds }: FailureOptions = {},
  ) {
    super(message);
    this.name = 'AppError';
    this.pointer = pointer;
    this.chain = chain;
    this.also = also;
    this.retryAfterSeconds = retryAfterSeconds;
  }

  /** The same refusal with another pointer, and other words if they are given. */
  with(pointer: string, message: string = this.message): AppError {
    return new AppError(this.key, this.status, this.code, message, { ...this, pointer });
  }

  /** The same refusal of a part of a larger request; `place` is the JSON pointer to the part. */
  within(place: string): AppError {
    return this.with(`${place}${this.pointer ?? ''}`);
  }
}

/** Runs a part of a larger request; a refusal of it points to `place`, the JSON pointer to the part. */
export function pointingTo<Result>(place: string, run: () => Result): Result {
  try {
    return run();
  } catch (error) {
    throw error instanceof AppError ? error.within(place) : error;
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
    return new AppError(`${area}.${key}`, definition.status, definition.code, text, options);
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

/**
 * Something outside has to be mended before a process can start: the master key is missing or wrong, or the disk is full. What is
 * stored is answered meanwhile.
 */
export class AwaitedError extends UserError {}

/** Checks a condition that the code relies on. A failure is a bug; it ends the request, never the process. */
export function invariant(condition: unknown, text: string): asserts condition {
  if (!condition) throw new Error(`invariant broken: ${text}`);
}

/** The message of any thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
