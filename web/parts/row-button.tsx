/** A button in a row of a table or of a list; its label for screen readers also names the subject of the row. */

interface RowButtonProps {
  readonly verb: string;
  readonly what: string;
  readonly busy?: boolean;
  readonly onClick: () => void;
}

export function RowButton({ verb, what, busy = false, onClick }: RowButtonProps) {
  return (
    <button type="button" class="quiet" disabled={busy} aria-label={`${verb} ${what}`} onClick={onClick}>
      {verb}
    </button>
  );
}
