/** What a screen says when there is nothing else to show: it loads, it is empty, it failed. */

import type { ComponentChildren } from 'preact';
import type { ApiError } from '../api.js';
import { Button } from '../kit/button.js';

export function Loading({ what }: { readonly what: string }) {
  return (
    <p class="loading" role="status">
      Loading {what}…
    </p>
  );
}

/** On a button whose request is on its way. */
export const WORKING = 'Working…';

/** The API's text for what a credential may not do. */
const FORBIDDEN = 'Authentication error';

/** Why a request was refused. It stays until the next try. */
export function ErrorNote({ error, onRetry }: { readonly error: ApiError; readonly onRetry?: () => void }) {
  return (
    <div class="note note-error" role="alert">
      <p dir="auto">
        {error.message === FORBIDDEN ? `Your credential may not do this (${FORBIDDEN}).` : error.message}
      </p>
      {onRetry && <Button class="quiet" onClick={onRetry} text="Try again" />}
    </div>
  );
}

interface EmptyProps {
  readonly title: string;
  /** Whether the screen has no other heading. */
  readonly isAlone?: boolean;
  readonly children?: ComponentChildren;
}

/** An empty state: what is missing, and what to do about it. */
export function Empty({ title, isAlone = false, children }: EmptyProps) {
  return (
    <div class="empty">
      {isAlone ? <h1>{title}</h1> : <h2>{title}</h2>}
      {children}
    </div>
  );
}

/** A text whose commands, in backticks, and options, such as `--nameservers`, are told apart; options stay on one line. */
export function WithFlags({ text }: { readonly text: string }) {
  return text.split(/(`[^`]+`|(?<=^|\s)--[a-z][a-z-]*)/).map((part, index) =>
    index % 2 === 1 ? (
      <code key={index} {...(part.startsWith('--') && { class: 'flag' })}>
        {part.replaceAll('`', '')}
      </code>
    ) : (
      part
    ),
  );
}
