/** Reading from the API inside a screen. */
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { type Answer, ApiError, call } from './api.js';
import { whenEvents } from './events.js';

interface Ahead {
  readonly reading: Promise<Answer<unknown>>;
  /** When it has come. */
  answer?: Answer<unknown>;
}

/** By path. */
const ahead = new Map<string, Ahead>();
/** An answer that nobody has taken by then is dropped: it would be old. */
const KEPT_MS = 15_000;

/** Asks for what a screen is going to read before it is there. Who reads this path first takes the answer, or the refusal. */
export function readAhead<Result>(path: string): Promise<Answer<Result>> {
  const known = ahead.get(path);
  if (known) return known.reading as Promise<Answer<Result>>;
  const reading = call<Result>('GET', path);
  const begun: Ahead = { reading };
  ahead.set(path, begun);
  const drop = (): void => {
    if (ahead.get(path) === begun) ahead.delete(path);
  };
  reading.then((answer) => {
    begun.answer = answer;
    setTimeout(drop, KEPT_MS);
  }, drop);
  return reading;
}

/** Whether the answer is on its way or there, and nobody has taken it. */
export function isReadAhead(path: string): boolean {
  return ahead.has(path);
}

/** The answer to `GET path`, which may have been asked for ahead. Throws an {@link ApiError} for a refusal. */
export function read<Result>(path: string, signal?: AbortSignal): Promise<Answer<Result>> {
  const begun = ahead.get(path);
  ahead.delete(path);
  return begun ? (begun.reading as Promise<Answer<Result>>) : call('GET', path, signal && { signal });
}

const readers = new Set<() => void>();

/** Reads again what the screen shows: after signing in again. */
export function readAgain(): void {
  for (const read of readers) read();
}

export interface Loaded<Result> {
  /** The last answer; stays while the next one is on its way. */
  readonly answer: Answer<Result> | undefined;
  readonly error: ApiError | undefined;
  readonly busy: boolean;
  readonly reload: () => void;
}

/**
 * The answer to `GET path`, read again when the path changes; undefined: nothing is read. `everyMs`: also read again after that
 * time, while the page is visible. `told`: also after events on the server; `everyMs` is then for changes without events.
 */
export function useLoad<Result>(
  path: string | undefined,
  { everyMs, told = false }: { readonly everyMs?: number; readonly told?: boolean } = {},
): Loaded<Result> {
  const [state, setState] = useState<Omit<Loaded<Result>, 'reload'>>(() => {
    const answer = path === undefined ? undefined : (ahead.get(path)?.answer as Answer<Result> | undefined);
    return { answer, error: undefined, busy: path !== undefined && !answer };
  });
  const [turn, setTurn] = useState(0);
  // Asked before the next picture is drawn: a screen that reads several things one after the other would lose one for each.
  useLayoutEffect(() => {
    if (path === undefined) return;
    const ended = new AbortController();
    const begun = ahead.get(path)?.answer;
    if (!begun) setState((before) => (before.busy ? before : { ...before, busy: true }));
    read<Result>(path, ended.signal).then(
      (answer) => {
        if (ended.signal.aborted) return;
        setState((before) => (before.answer === answer ? before : { answer, error: undefined, busy: false }));
      },
      (error) => {
        if (!ended.signal.aborted) setState((before) => ({ ...before, error: asApiError(error), busy: false }));
      },
    );
    return () => ended.abort();
  }, [path, turn]);
  const isBusy = useRef(state.busy);
  isBusy.current = state.busy;
  useEffect(() => {
    if (everyMs === undefined) return;
    const timer = setInterval(() => {
      // An answer that takes longer than that would never come: asking again gives it up.
      if (document.visibilityState === 'visible' && !isBusy.current) setTurn((n) => n + 1);
    }, everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  useEffect(() => (told ? whenEvents(() => !isBusy.current && setTurn((n) => n + 1)) : undefined), [told]);
  const reload = useCallback(() => setTurn((n) => n + 1), []);
  useEffect(() => {
    readers.add(reload);
    return () => void readers.delete(reload);
  }, [reload]);
  return { ...state, reload };
}

export interface Sending {
  readonly busy: boolean;
  readonly error: ApiError | undefined;
  /** Runs a write; its refusal is shown, not thrown. Returns whether it succeeded. Of several, the last one is shown. */
  readonly run: (work: () => Promise<void>) => Promise<boolean>;
  /** Runs one request, and then what was given to {@link useSending}. */
  readonly send: (...request: Parameters<typeof call>) => Promise<boolean>;
  readonly clear: () => void;
}

/** A write of a screen: whether it is on its way, and why it was refused. `onSent`: reads again what it has changed. */
export function useSending(onSent?: () => void): Sending {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError>();
  const last = useRef(0);
  const run = useCallback(async (work: () => Promise<void>) => {
    last.current += 1;
    const turn = last.current;
    setBusy(true);
    setError(undefined);
    try {
      await work();
      return true;
    } catch (caught) {
      if (turn === last.current) setError(asApiError(caught));
      return false;
    } finally {
      if (turn === last.current) setBusy(false);
    }
  }, []);
  const send = (...request: Parameters<typeof call>): Promise<boolean> =>
    run(async () => {
      await call(...request);
      onSent?.();
    });
  return { busy, error, run, send, clear: useCallback(() => setError(undefined), []) };
}

/** A bug is shown and logged, a refusal shown. */
function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  console.error(error);
  return new ApiError(0, [{ code: 0, message: `Something in this page failed: ${String(error)}` }]);
}
