/** One statement on a connection, with limits for the time that it may take. */
import { type Clock, steadyMs } from '../base/clock.js';
import { withLimit } from '../base/lifecycle.js';
import { OutcomeUnknown } from '../store/failures.js';

export type Row = Readonly<Record<string, unknown>>;
export type Value = string | number | Uint8Array;

/** Of a connection, what is needed here. */
export interface Client {
  query(
    asked: string | { readonly name: string; readonly text: string; readonly values: (string | number | Buffer)[] },
  ): Promise<Answer | readonly Answer[]>;
}

interface Answer {
  readonly rows: readonly Row[];
}

export interface QueryLimits {
  readonly answerMs?: number;
  readonly allMs?: number;
}

/** Statements with parameters are planned once for each connection; their texts are constants. */
const names = new Map<string, string>();

function nameOf(text: string): string {
  const name = names.get(text) ?? `zoneplane${names.size}`;
  names.set(text, name);
  return name;
}

/** One statement at a time; the time of those before it does not count. */
const lastAsked = new WeakMap<Client, Promise<unknown>>();

/** Rows of the last statement of the text. Throws an {@link OutcomeUnknown} when there is no answer in time. */
export async function ask(
  client: Client,
  clock: Clock,
  { text, values }: { readonly text: string; readonly values: readonly Value[] },
  { answerMs, allMs }: Required<QueryLimits>,
): Promise<readonly Row[]> {
  const endMs = steadyMs(clock) + allMs;
  const before = lastAsked.get(client) ?? Promise.resolve();
  const asked = before.then(() =>
    client.query(values.length > 0 ? { name: nameOf(text), text, values: values.map(toParameter) } : text),
  );
  const ended = asked.then(
    () => {},
    () => {},
  );
  lastAsked.set(client, ended);
  if (
    (await within(
      clock,
      allMs,
      before.then(() => true),
    )) === undefined
  )
    throw new OutcomeUnknown(noAnswer(allMs));
  const limitMs = Math.min(answerMs, Math.max(0, endMs - steadyMs(clock)));
  const result = await withLimit(clock, limitMs, asked);
  if (result === undefined) throw new OutcomeUnknown(noAnswer(limitMs));
  return 'rows' in result ? result.rows : result.at(-1)!.rows;
}

/** {@link withLimit} for a limit that may be infinite. */
export function within<Result>(clock: Clock, limitMs: number, work: Promise<Result>): Promise<Result | undefined> {
  return limitMs === Number.POSITIVE_INFINITY ? work : withLimit(clock, Math.max(0, limitMs), work);
}

export const noAnswer = (ms: number): string => `PostgreSQL did not answer within ${Math.round(ms / 100) / 10} s`;

function toParameter(value: Value): string | number | Buffer {
  return value instanceof Uint8Array ? Buffer.from(value.buffer, value.byteOffset, value.byteLength) : value;
}
