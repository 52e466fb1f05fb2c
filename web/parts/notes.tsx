/** What a screen says when there is nothing else to show: it loads, it is empty, it failed. */
import type { ComponentChildren } from 'preact';
import type { ApiError } from '../api.js';

export function Loading({ what }: { readonly what: string }) {
  return (
    <p class="loading" role="status">
      Loading {what}…
    </p>
  );
}

/** Why a request was refused. It stays until the next try. */
export function ErrorNote({ error, onRetry }: { readonly error: ApiError; readonly onRetry?: () => void }) {
  return (
    <div class="note note-error" role="alert">
      <p dir="auto">{error.message}</p>
      {onRetry && (
        <button type="button" class="quiet" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** An empty state: what is missing, and what to do about it. */
export function Empty({ title, children }: { readonly title: string; readonly children?: ComponentChildren }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

/** A text whose options of commands, such as `--nameservers`, stay on one line. */
export function WithFlags({ text }: { readonly text: string }) {
  return text.split(/(?<=^|\s)(--[a-z][a-z-]*)/).map((part, index) =>
    index % 2 === 1 ? (
      <code key={index} class="flag">
        {part}
      </code>
    ) : (
      part
    ),
  );
}
