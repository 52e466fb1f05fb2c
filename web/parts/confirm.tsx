/** A button for what cannot be undone: the second press does it; leaving the button takes the first one back. */
import { useEffect, useState } from 'preact/hooks';
import type { Sending } from '../load.js';
import { WORKING } from './notes.js';

interface ConfirmProps {
  /** Begins with a capital letter. */
  readonly verb?: string;
  /** What it is done to, for who hears the button instead of seeing its row. */
  readonly what: string;
  readonly busy: boolean;
  /** In rows of a table. */
  readonly quiet?: boolean;
  readonly onConfirm: () => void;
}

export function Confirm({ verb = 'Delete', what, busy, quiet = false, onConfirm }: ConfirmProps) {
  const [asked, setAsked] = useState(false);
  // Of several buttons that wait for the same answer, this one was pressed.
  const [sent, setSent] = useState(false);
  useEffect(() => {
    if (!busy) setSent(false);
  }, [busy]);
  const text = sent ? WORKING : asked ? `Really ${verb.charAt(0).toLowerCase()}${verb.slice(1)}` : verb;
  const press = (event: MouseEvent): void => {
    // The second click of a double click does not confirm.
    if (event.detail > 1) return;
    setAsked(!asked);
    if (!asked) return;
    setSent(true);
    onConfirm();
  };
  return (
    <button
      type="button"
      class={quiet ? 'quiet danger' : 'danger'}
      disabled={busy}
      aria-label={`${text} ${what}`}
      onClick={press}
      onBlur={() => setAsked(false)}
    >
      {text}
    </button>
  );
}

interface DeleteProps extends Omit<ConfirmProps, 'busy' | 'onConfirm'> {
  readonly path: string;
  readonly sending: Sending;
}

/** The same for what is deleted by one request. */
export function Delete({ path, sending, ...rest }: DeleteProps) {
  return <Confirm {...rest} busy={sending.busy} onConfirm={() => void sending.send('DELETE', path)} />;
}
