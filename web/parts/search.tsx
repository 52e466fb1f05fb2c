/** A search field whose text stands in the address. `/` leads to it from anywhere on the screen. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { go, usePlace, withQuery } from '../router.js';

interface SearchProps {
  /** Member of the query. */
  readonly name: string;
  readonly label: string;
  readonly placeholder?: string;
}

/** Shorter than most people need for the next key; an answer that is no longer wanted is given up. */
const PAUSE_MS = 25;

export function Search({ name, label, placeholder = 'Search' }: SearchProps) {
  const inAddress = usePlace().query.get(name) ?? '';
  const [text, setText] = useState(inAddress);
  const field = useRef<HTMLInputElement>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => {
    // The back button changes the address; typing must not be overwritten by its own, older text.
    if (document.activeElement !== field.current) setText(inAddress);
  }, [inAddress]);
  useEffect(() => {
    const focus = (event: KeyboardEvent): void => {
      if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      event.preventDefault();
      field.current?.focus();
      field.current?.select();
    };
    addEventListener('keydown', focus);
    return () => removeEventListener('keydown', focus);
  }, []);
  useEffect(() => () => clearTimeout(timer.current), []);
  const search = (next: string): void => {
    setText(next);
    clearTimeout(timer.current);
    timer.current = setTimeout(
      () => go(withQuery({ [name]: next.trim(), page: undefined }), { replace: true }),
      PAUSE_MS,
    );
  };
  return (
    <label class="search">
      <span class="hidden">{label}</span>
      <input
        ref={field}
        type="search"
        value={text}
        placeholder={placeholder}
        aria-keyshortcuts="/"
        onInput={(event) => search(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Escape') return;
          if (text === '') field.current?.blur();
          else search('');
        }}
      />
    </label>
  );
}

/** Whether keys go into a field. */
export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName);
}
