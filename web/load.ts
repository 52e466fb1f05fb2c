/** Reading from the API inside a screen. */
import { useCallback, useEffect, useState } from 'preact/hooks';
import { type Answer, ApiError, call } from './api.js';

export interface Loaded<Result> {
  /** The last answer; stays while the next one is on its way. */
  readonly answer: Answer<Result> | undefined;
  readonly error: ApiError | undefined;
  readonly busy: boolean;
  readonly reload: () => void;
}

/**
 * The answer to `GET path`, read again when the path changes; undefined: nothing is read. `everyMs`: also read again after that
 * time, while the page is visible.
 */
export function useLoad<Result>(
  path: string | undefined,
  { everyMs }: { readonly everyMs?: number } = {},
): Loaded<Result> {
  const [state, setState] = useState<Omit<Loaded<Result>, 'reload'>>({
    answer: undefined,
    error: undefined,
    busy: path !== undefined,
  });
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    if (path === undefined) return;
    const ended = new AbortController();
    setState((before) => ({ ...before, busy: true }));
    call<Result>('GET', path, { signal: ended.signal }).then(
      (answer) => {
        setState({ answer, error: undefined, busy: false });
      },
      (error) => {
        if (!ended.signal.aborted) setState((before) => ({ ...before, error: asApiError(error), busy: false }));
      },
    );
    return () => ended.abort();
  }, [path, turn]);
  useEffect(() => {
    if (everyMs === undefined) return;
    const timer = setInterval(() => document.visibilityState === 'visible' && setTurn((n) => n + 1), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  const reload = useCallback(() => setTurn((n) => n + 1), []);
  return { ...state, reload };
}

export interface Sending {
  readonly busy: boolean;
  readonly error: ApiError | undefined;
  /** Runs a write; its refusal is shown, not thrown. Returns whether it succeeded. */
  readonly run: (work: () => Promise<void>) => Promise<boolean>;
  readonly clear: () => void;
}

/** A write of a screen: whether it is on its way, and why it was refused. */
export function useSending(): Sending {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError>();
  const run = useCallback(async (work: () => Promise<void>) => {
    setBusy(true);
    setError(undefined);
    try {
      await work();
      return true;
    } catch (caught) {
      setError(asApiError(caught));
      return false;
    } finally {
      setBusy(false);
    }
  }, []);
  return { busy, error, run, clear: useCallback(() => setError(undefined), []) };
}

/** A bug is shown and logged, a refusal shown. */
function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  console.error(error);
  return new ApiError(0, [{ code: 0, message: `Something in this page failed: ${String(error)}` }]);
}
