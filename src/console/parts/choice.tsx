/** A field of a dialog for one of several words. */
import type { Signal } from '@preact/signals';
import type { JSX } from 'preact';

interface WordsProps<Word extends string> {
  readonly label: string;
  readonly words: readonly Word[];
  readonly textOf: (word: Word) => string;
}

interface WordChoiceProps<Word extends string> extends WordsProps<Word> {
  readonly value: Word;
  readonly onWord: (word: Word) => void;
}

export function WordChoice<Word extends string>(props: WordChoiceProps<Word>): JSX.Element {
  const { label, value, words, textOf, onWord } = props;
  return (
    <label>
      {label}
      <select
        value={value}
        onChange={({ currentTarget }) => {
          const wanted = words.find((word) => word === currentTarget.value);
          if (wanted !== undefined) onWord(wanted);
        }}
      >
        {words.map((word) => (
          <option key={word} value={word}>
            {textOf(word)}
          </option>
        ))}
      </select>
    </label>
  );
}

interface ChoiceProps<Word extends string> extends WordsProps<Word> {
  readonly value: Signal<Word>;
}

/** The same for a word that is a signal. */
export function Choice<Word extends string>({ value, ...words }: ChoiceProps<Word>): JSX.Element {
  return <WordChoice {...words} value={value.value} onWord={(word) => (value.value = word)} />;
}
