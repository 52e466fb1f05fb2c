/** Searches the guide in the browser: what is searched comes when somebody begins to. */
import MiniSearch from 'minisearch';

interface Section {
  readonly link: string;
  readonly title: string;
  readonly heading: string;
  readonly text: string;
}

const MOST_RESULTS = 20;
const EXCERPT = 160;

const field = document.querySelector<HTMLInputElement>('#search')!;
const results = document.querySelector<HTMLElement>('#results')!;
const page = document.querySelector<HTMLElement>('#document > article')!;
let sections: readonly Section[] = [];
let loading: Promise<MiniSearch> | undefined;

async function load(): Promise<MiniSearch> {
  const response = await fetch(field.dataset['sections']!);
  if (!response.ok) throw new Error(`the texts could not be loaded (${response.status})`);
  sections = (await response.json()) as Section[];
  const search = new MiniSearch({
    fields: ['heading', 'title', 'text'],
    searchOptions: { boost: { heading: 4, title: 2 }, prefix: true, fuzzy: 0.15, combineWith: 'AND' },
  });
  search.addAll(sections.map((section, id) => ({ id, ...section })));
  return search;
}

/** The text around the first word that is looked for. */
function excerptOf({ text }: Section, words: readonly string[]): string {
  const lower = text.toLowerCase();
  const at = Math.max(0, Math.min(...words.map((word) => lower.indexOf(word)).filter((found) => found >= 0)) - 40);
  const begin = Number.isFinite(at) ? at : 0;
  return `${begin > 0 ? '…' : ''}${text.slice(begin, begin + EXCERPT).trim()}…`;
}

function show(found: readonly Section[], words: readonly string[]): void {
  const heading = document.createElement('h1');
  heading.textContent = found.length === 0 ? 'Nothing found' : 'Search results';
  const entries = found.map((section) => {
    const entry = document.createElement('article');
    const link = document.createElement('a');
    link.href = section.link;
    link.textContent = section.title === section.heading ? section.title : `${section.title}: ${section.heading}`;
    const excerpt = document.createElement('p');
    excerpt.textContent = excerptOf(section, words);
    entry.append(link, excerpt);
    return entry;
  });
  results.replaceChildren(heading, ...entries);
}

async function searchFor(text: string): Promise<void> {
  const isEmpty = text.trim() === '';
  results.hidden = isEmpty;
  page.hidden = !isEmpty;
  if (isEmpty) return;
  try {
    loading ??= load();
    const search = await loading;
    // Something else was typed meanwhile.
    if (field.value !== text) return;
    const found = search.search(text).slice(0, MOST_RESULTS);
    show(
      found.map(({ id }) => sections[id as number]!),
      text.toLowerCase().split(/\s+/).filter(Boolean),
    );
  } catch (error) {
    loading = undefined;
    const message = document.createElement('p');
    message.textContent = `The search does not work now: ${(error as Error).message}`;
    results.replaceChildren(message);
  }
}

field.addEventListener('input', () => void searchFor(field.value));
field.form!.addEventListener('submit', (event) => event.preventDefault());
// A result on the page that is open.
results.addEventListener('click', (event) => {
  const link = (event.target as HTMLElement).closest('a');
  if (!link || link.pathname !== location.pathname) return;
  field.value = '';
  void searchFor('');
});
