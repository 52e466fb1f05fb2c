/** Addresses and screens: the address decides what is shown, so links, reloading and the back button work everywhere. */

import type { ComponentChildren } from 'preact';
import { useCallback, useLayoutEffect, useRef, useState } from 'preact/hooks';

/** Path and query of the address. */
export interface Place {
  readonly path: string;
  readonly query: URLSearchParams;
}

const CHANGED = 'zoneplane:moved';

function currentPlace(): Place {
  return { path: location.pathname, query: new URLSearchParams(location.search) };
}

/** Goes to an address of the dashboard. `replace`: without an entry of its own for the back button. */
export function go(to: string, { replace = false } = {}): void {
  if (to === location.pathname + location.search) return;
  const samePath = new URL(to, location.href).pathname === location.pathname;
  history[replace ? 'replaceState' : 'pushState'](null, '', to);
  dispatchEvent(new Event(CHANGED));
  if (!samePath) scrollTo(0, 0);
}

/** Tells, after an answer has come, whether the screen that asked is still open: people stay where they have gone meanwhile. */
export function useIsHere(): () => boolean {
  const here = useRef(false);
  useLayoutEffect(() => {
    here.current = true;
    return () => {
      here.current = false;
    };
  }, []);
  return useCallback(() => here.current, []);
}

export function usePlace(): Place {
  const [place, setPlace] = useState(currentPlace);
  // Not after the next picture: a refusal that comes before it would move the address unheard.
  useLayoutEffect(() => {
    const move = (): void => setPlace(currentPlace());
    addEventListener('popstate', move);
    addEventListener(CHANGED, move);
    return () => {
      removeEventListener('popstate', move);
      removeEventListener(CHANGED, move);
    };
  }, []);
  return place;
}

/** The present path with other members of the query; empty ones are left out. */
export function withQuery(changes: Readonly<Record<string, string | undefined>>): string {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === '') query.delete(name);
    else query.set(name, value);
  }
  const text = query.toString();
  return location.pathname + (text && `?${text}`);
}

/** The values of a pattern's `:names`; undefined when the path is another. */
export function matchPath(pattern: string, path: string): Readonly<Record<string, string>> | undefined {
  const parts = pattern.split('/');
  const given = path.replace(/\/+$/, '').split('/');
  if (parts.length !== given.length) return undefined;
  const params: Record<string, string> = {};
  for (const [index, part] of parts.entries()) {
    const value = given[index]!;
    if (part.startsWith(':')) params[part.slice(1)] = decodePart(value);
    else if (part !== value) return undefined;
  }
  return params;
}

export function decodePart(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

interface LinkProps {
  readonly href: string;
  readonly class?: string;
  readonly title?: string | undefined;
  readonly 'aria-current'?: 'page' | undefined;
  readonly 'aria-label'?: string;
  readonly 'aria-expanded'?: boolean;
  readonly children?: ComponentChildren;
}

/** A link inside the dashboard: other windows, tabs and downloads still are the browser's. */
export function Link({ href, ...rest }: LinkProps) {
  const follow = (event: MouseEvent): void => {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(href);
  };
  return <a href={href} onClick={follow} {...rest} />;
}
