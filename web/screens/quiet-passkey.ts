/** A passkey among the suggestions of the field for the e-mail address, where the browser has that (conditional mediation). */
import { useEffect } from 'preact/hooks';
import { answerWithPasskey, passkeyQuestion } from '../passkey.js';

/** What the server asks holds for a minute. */
const RENEW_MS = 50_000;

export function useQuietPasskey(isWanted: boolean, onAnswer: (passkey: unknown) => void): void {
  useEffect(() => {
    if (!isWanted) return;
    const end = new AbortController();
    void offer(end.signal, onAnswer);
    return () => end.abort();
  }, [isWanted]);
}

async function offer(end: AbortSignal, onAnswer: (passkey: unknown) => void): Promise<void> {
  if (!(await PublicKeyCredential.isConditionalMediationAvailable?.())) return;
  while (!end.aborted) {
    const old = new AbortController();
    const stop = (): void => old.abort();
    end.addEventListener('abort', stop);
    const timer = setTimeout(stop, RENEW_MS);
    try {
      onAnswer(await answerWithPasskey(await passkeyQuestion(), { signal: old.signal, isQuiet: true }));
      return;
    } catch (error) {
      // Another question is due; whatever else it is, the person has the button.
      if (!(error instanceof DOMException)) return;
    } finally {
      clearTimeout(timer);
      end.removeEventListener('abort', stop);
    }
  }
}
