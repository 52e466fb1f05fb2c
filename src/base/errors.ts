/** Typed failures: made where the cause is known, turned into wire form in one place per protocol. */

/** One row of an area's error table. `status` is the HTTP status, `code` the v4 code, `text` may hold `{param}`. */
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
  /** JSON pointer to the offending member of the request, such as `/ttl`. */
  readonly pointer?: string;
  /** v4 `error_chain` members. */
  readonly chain?: readonly ChainedError[];
  /** Further items of the v4 `errors` list, after this one (v4: §15.3, duplicates). */
  readonly also?: readonly ChainedError[];
}

/** A refusal with a stable key (`records.duplicate`), an HTTP status and a v4 code. Never a bug, so never logged with a stack. */
export class AppError extends Error {
  constructor(
    readonly key: string,
    readonly status: number,
    readonly code: number,
    message: string,
    readonly pointer?: string,
    readonly chain?: readonly ChainedError[],
    readonly also?: readonly ChainedError[],
  ) {
    super(message);
    this.name = 'AppError';
  }
}

export type Failure<Key extends string> = (
  key: Key,
  params?: Readonly<Record<string, string | number>>,
  options?: FailureOptions,
) => AppError;

/**
 * Makes the error factory of one area from its table.
 * Use: `const failure = defineErrors('records', { missing: { status: 404, code: 81044, text: 'Record does not exist.' } });`
 * then `throw failure('missing')`.
 */
export function defineErrors<Table extends Readonly<Record<string, ErrorDefinition>>>(
  area: string,
  table: Table,
): Failure<Extract<keyof Table, string>> {
  return (key, params = {}, options = {}) => {
    const definition = table[key] as ErrorDefinition;
    const text = definition.text.replace(/\{(\w+)\}/g, (_, name: string) => String(params[name] ?? `{${name}}`));
    const { pointer, chain, also } = options;
    return new AppError(`${area}.${key}`, definition.status, definition.code, text, pointer, chain, also);
  };
}

/** Something the operator must put right (a port taken, a bad setting). Printed as sentences on stderr, without a stack. */
export class UserError extends Error {
  constructor(
    message: string,
    /** What to do next; printed on a line of its own. */
    readonly remedy?: string,
    /** 1 refused, 2 wrong usage. */
    readonly exitCode: 1 | 2 = 1,
  ) {
    super(message);
    this.name = 'UserError';
  }
}

/** States what the code relies on; a failure is a bug and ends the request, never the process. */
export function invariant(condition: unknown, text: string): asserts condition {
  if (!condition) throw new Error(`invariant broken: ${text}`);
}

/** The message of whatever was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
