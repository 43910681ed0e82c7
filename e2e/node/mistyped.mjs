// Prints what a program sees that asks a model which does not exist. Arguments: base URL, key.
import OpenAI from "openai";

const client = new OpenAI({ baseURL: process.argv[2], apiKey: process.argv[3], maxRetries: 0 });
try {
  const answer = await client.chat.completions.create({
    model: "meridian/atlas-smal", messages: [{ role: "user", content: "x" }],
  });
  console.log(answer.choices[0].message.content);
} catch (err) {
  console.log(err.message);
}
